import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// Changes the users file: at any moment the old or the new file is there. Two editors wait for each other.
public struct UserTokensEditor: Sendable {
  private let path: String
  private let sharing: SharedTokens

  /// - Parameter sharing: whether a user may get a token that another has.
  public init(path: String, sharing: SharedTokens = .refused) {
    self.path = path
    self.sharing = sharing
  }

  /// The user's token in the file. If there is none, `fresh` is added at the end. A token that another user has is
  /// added only if it may be shared.
  public func token(
    of user: UnixUsername, orAdd fresh: Secret
  ) throws(UserTokensError) -> (token: Secret, isNew: Bool) {
    try locked { () throws(UserTokensError) in
      var text = try current() ?? []
      let known = try UserTokens(parsing: text)
      if let token = try known.token(of: user) { return (token, false) }
      // A sign-in skips another user's damaged line. An editor throws, so that the line is repaired.
      if let line = known.damagedLines().first { throw .notText(line: line) }
      try check(fresh, of: user, among: known.users(having: fresh))
      if let last = text.last, last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
      text += Array("\(user.text):".utf8) + fresh.exposedBytes + [UInt8(ascii: "\n")]
      try replace(with: text)
      return (fresh, true)
    }
  }

  /// Adds these users at the end, all or none. A user who already has this token is skipped.
  public func add(_ entries: [(user: UnixUsername, token: Secret)]) throws(UserTokensError) {
    try locked { () throws(UserTokensError) in try replace(with: try text(with: entries)) }
  }

  /// Throws if these users could not be added to the file as it is now.
  public func checkAddition(of entries: [(user: UnixUsername, token: Secret)]) throws(UserTokensError) {
    _ = try text(with: entries)
  }

  private func text(with entries: [(user: UnixUsername, token: Secret)]) throws(UserTokensError) -> [UInt8] {
    var text = try current() ?? []
    // The file is read once for all, because it may have 100,000 users.
    var known: [UnixUsername: Secret] = [:]
    var holders: [Secret: [String]] = [:]
    for (user, token) in try UserTokens(parsing: text).entries() {
      known[user] = token
      holders[token, default: []].append(user.text)
    }
    if let last = text.last, last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
    for (user, token) in entries {
      if let old = known[user] {
        guard old == token else { throw .hasAnotherToken(user.text) }
        continue
      }
      try check(token, of: user, among: holders[token, default: []])
      holders[token, default: []].append(user.text)
      text += Array("\(user.text):".utf8) + token.exposedBytes + [UInt8(ascii: "\n")]
    }
    return text
  }

  /// A token that a sign-in would not take is not written.
  private func check(_ token: Secret, of user: UnixUsername, among holders: [String]) throws(UserTokensError) {
    guard let other = holders.first else { return }
    switch sharing.refusal(of: user, holders + [user.text], isRoot: UnixUsername.isRoots) {
    case nil: return
    case .lookup(let error): throw .lookup(error)
    case .some: throw .tokenIsAnothers(other)
    }
  }

  /// Removes the user's line, if it still has this token.
  public func remove(_ user: UnixUsername, token: Secret) throws(UserTokensError) {
    try removal(of: user, token: token).finish()
  }

  /// Prepares the removal. Only a rename is left that could fail.
  public func removal(of user: UnixUsername, token: Secret) throws(UserTokensError) -> UserTokensRemoval {
    let lock = try editorLock()
    guard let bytes = try current() else { return UserTokensRemoval(nil, lock) }
    let line = Array("\(user.text):".utf8) + token.exposedBytes
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let file = try written(Array(lines.filter { $0 != line[...] }.joined(separator: [UInt8(ascii: "\n")])))
    return UserTokensRemoval(file, lock)
  }

  /// Nil if there is no file yet.
  private func current() throws(UserTokensError) -> [UInt8]? {
    do {
      return try SecureFile.read(path, privacy: .secret, limit: UserTokens.greatestSize)
    } catch {
      if error.code == .missing { return nil }
      throw .file(error)
    }
  }

  private func replace(with text: [UInt8]) throws(UserTokensError) {
    let file = try written(text)
    do { try file.takePlace() } catch { throw .file(error) }
  }

  /// Writes the new file beside the one in force.
  private func written(_ text: [UInt8]) throws(UserTokensError) -> NewFile {
    guard text.count <= UserTokens.greatestSize else { throw .file(FileError(.tooLarge, path: path)) }
    do throws(FileError) {
      let file = try NewFile(for: path, mode: 0o600)
      try file.write(text)
      return file
    } catch { throw .file(error) }
  }

  private func editorLock() throws(UserTokensError) -> EditorLock {
    do { return try EditorLock(of: path) } catch { throw .file(error) }
  }

  private func locked<Result>(_ body: () throws(UserTokensError) -> Result) throws(UserTokensError) -> Result {
    let lock = try editorLock()
    defer { withExtendedLifetime(lock) {} }
    return try body()
  }
}

/// The users file without one line, written beside the old one. Other editors wait until this object is gone.
public final class UserTokensRemoval {
  /// Nil if there is no users file.
  private var file: NewFile?
  private let lock: EditorLock

  fileprivate init(_ file: NewFile?, _ lock: EditorLock) {
    self.file = file
    self.lock = lock
  }

  // The new file is removed before the lock is released: the next editor's file has the same name.
  deinit { file = nil }

  public func finish() throws(UserTokensError) {
    do { try file?.takePlace() } catch { throw .file(error) }
  }
}
