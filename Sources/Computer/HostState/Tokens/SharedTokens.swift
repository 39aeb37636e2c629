import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// Whether several users of the users file may have one token, so that one phone signs all of them in.
public enum SharedTokens: String, Sendable, CaseIterable {
  /// Such users are not signed in.
  case refused
  /// Such users are signed in, unless root is among them.
  case allowed

  /// The most users who may share one token. Each is looked up in the system, to see whether it is root.
  public static let greatestCount = 32

  /// Why a user's token does not sign in; nil if it does.
  ///
  /// - Parameters:
  ///   - holders: all users who have the token, or more than ``greatestCount`` of them.
  ///   - isRoot: whether the system gives this name uid 0.
  func refusal(
    of user: UnixUsername, _ holders: [String], isRoot: (UnixUsername) throws(UserLookupError) -> Bool
  ) -> UserTokensError? {
    let others = holders.filter { !$0.utf8.elementsEqual(user.text.utf8) }
    guard let first = others.first else {
      // The file had the user's line at the first reading, but not at the second. It is being written.
      return holders.isEmpty ? .file(FileError(.system(EAGAIN), path: "users file")) : nil
    }
    let refusal = UserTokensError.tokenIsShared(user.text, with: first)
    guard self == .allowed, holders.count <= Self.greatestCount else { return refusal }
    do throws(UserLookupError) {
      for name in [user] + others.compactMap({ UnixUsername(validating: $0) }) {
        if try isRoot(name) { return refusal }
      }
    } catch { return .lookup(error) }
    return nil
  }
}

extension UnixUsername {
  /// Whether this is the name `root`, or a name to which the system gives uid 0.
  public static func isRoots(_ name: UnixUsername) throws(UserLookupError) -> Bool {
    if name.text == "root" { return true }
    return try SystemUser.find(named: name)?.uid == 0
  }
}

/// Searches the users file, piece by piece, for all users who have one token.
struct TokenHolders {
  private let key: [UInt8]
  private let greatest: Int
  /// The users' names as the lines spell them, in the file's order.
  private(set) var names: [String] = []

  /// - Parameter greatest: the number of names at which the search ends.
  init(of token: Secret, greatest: Int = SharedTokens.greatestCount + 1) {
    key = [UInt8(ascii: ":")] + token.exposedBytes
    self.greatest = greatest
  }

  /// Reads the next lines; false if the search is over.
  mutating func look(at lines: UnsafeRawBufferPointer) -> Bool {
    var next = 0
    while next < lines.count, names.count < greatest {
      // SAFETY: `next` is inside the buffer, and the search ends at its end.
      guard let place = iampass_find(lines.baseAddress! + next, lines.count - next, key, key.count) else { return true }
      let found = UnsafeRawPointer(place) - lines.baseAddress!
      let end = found + key.count
      if end == lines.count || lines[end] == UInt8(ascii: "\n") { note(TokenSearch.name(before: found, in: lines)) }
      next = found + 1
    }
    return names.count < greatest
  }

  /// A token has no colon, so a line whose name would have a colon has another token.
  private mutating func note(_ name: UnsafeRawBufferPointer) {
    guard name.first != UInt8(ascii: "#"), !name.contains(UInt8(ascii: ":")) else { return }
    names.append(String(decoding: name, as: UTF8.self))
  }
}
