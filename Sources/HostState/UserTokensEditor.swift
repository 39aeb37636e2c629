import CHost
import Glibc
import IAMPASSProtocol

/// Changes the users file: the old one or the new one is there at any moment, and two editors wait for each other.
public struct UserTokensEditor: Sendable {
  private let path: String

  public init(path: String) { self.path = path }

  /// The user's token: the one in the file, else `fresh`, which is added at the end.
  public func token(of user: UnixUsername, orAdd fresh: Secret) throws(UserTokensError) -> Secret {
    try locked { () throws(UserTokensError) in
      let bytes = try current()
      if let bytes, let known = try UserTokens(parsing: bytes).token(of: user) { return known }
      var text = bytes ?? []
      if let last = text.last, last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
      text += Array("\(user.text):".utf8) + fresh.exposedBytes + [UInt8(ascii: "\n")]
      try replace(with: text)
      return fresh
    }
  }

  /// Adds these users at the end, all or none; who has this very token already is passed over.
  public func add(_ entries: [(user: UnixUsername, token: Secret)]) throws(UserTokensError) {
    try locked { () throws(UserTokensError) in
      var text = try current() ?? []
      // One look at the file for all: it may have 100,000 users.
      var known: [UnixUsername: Secret] = [:]
      for (user, token) in try UserTokens(parsing: text).entries() { known[user] = token }
      if let last = text.last, last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
      for (user, token) in entries {
        if let old = known[user] {
          guard old == token else { throw .hasAnotherToken(user.text) }
          continue
        }
        text += Array("\(user.text):".utf8) + token.exposedBytes + [UInt8(ascii: "\n")]
      }
      try replace(with: text)
    }
  }

  /// Removes the user's line, if it still holds this token.
  public func remove(_ user: UnixUsername, token: Secret) throws(UserTokensError) {
    try locked { () throws(UserTokensError) in
      guard let bytes = try current() else { return }
      let line = Array("\(user.text):".utf8) + token.exposedBytes
      let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      try replace(with: Array(lines.filter { $0 != line[...] }.joined(separator: [UInt8(ascii: "\n")])))
    }
  }

  /// Nil where there is no file yet.
  private func current() throws(UserTokensError) -> [UInt8]? {
    do {
      return try SecureFile.read(path, privacy: .secret, limit: UserTokens.greatestSize)
    } catch {
      if error.code == .missing { return nil }
      throw .file(error)
    }
  }

  private func replace(with text: [UInt8]) throws(UserTokensError) {
    guard text.count <= UserTokens.greatestSize else { throw .file(FileError(.tooLarge, path: path)) }
    do { try AtomicFile.write(text, to: path, mode: 0o600) } catch { throw .file(error) }
  }

  private func locked<Result>(_ body: () throws(UserTokensError) -> Result) throws(UserTokensError) -> Result {
    // A file of its own that only root can open: anyone may lock a folder that he can read.
    let lock = path + ".lock"
    let descriptor = iampass_open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .file(SecureFile.openError(lock)) }
    defer { close(descriptor) }
    do { try FileLock.take(descriptor, path: lock) } catch { throw .file(error) }
    return try body()
  }
}
