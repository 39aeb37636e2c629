import HostSystem
import IAMPASSProtocol

/// Why the users file is not used.
public enum UserTokensError: Error, Sendable, Equatable {
  case file(FileError)
  /// This line, which may be the user's, has a NUL or a carriage return. Or the file begins with a byte order mark.
  case notText(line: Int)
  /// The user's line, with this number, has no token or one with characters that a token cannot have.
  case badToken(line: Int)
  case userNamedTwice(line: Int)
  /// The file already has another token for the user.
  case hasAnotherToken(String)
  /// This other user already has the token in the file.
  case tokenIsAnothers(String)
  /// The first line of the service's list does not name a computer.
  case notSaidForWhom
  /// The first user has the same token as the second, which is not allowed.
  case tokenIsShared(String, with: String)
  /// It is not known whether root has the same token, or whether the user may sign in here.
  case lookup(UserLookupError)

  public func explanation(path: String) -> String {
    switch self {
    case .file(let error): error.explanation
    case .notText(let line): "\(path):\(line): not a line of text (NUL, carriage return or byte order mark)"
    case .badToken(let line): "\(path):\(line): no usable token"
    case .userNamedTwice(let line): "\(path):\(line): user named twice"
    case .hasAnotherToken(let user): "\(path): \(DisplayText.sanitized(user, limit: 64)) has another token already"
    case .tokenIsAnothers(let user): "\(path): this token is \(DisplayText.sanitized(user, limit: 64))'s"
    case .notSaidForWhom: "\(path):1: does not say for which computer this list is"
    case .tokenIsShared(let user, let other):
      "\(path): \(DisplayText.sanitized(user, limit: 64)) and \(DisplayText.sanitized(other, limit: 64)) have the same token"
    case .lookup(let error): "\(path): \(error.explanation)"
    }
  }
}

/// `/etc/iampass/users`: a line `username:token` for each user.
public struct UserTokens: Sendable {
  /// Greatest size of the file in bytes.
  public static let greatestSize = 16 * 1024 * 1024
  /// Greatest length of a token in bytes.
  static let greatestTokenLength = 512

  private let bytes: [UInt8]

  /// Reads the file as it is now.
  public init(path: String) throws(UserTokensError) {
    let bytes: [UInt8]
    do {
      bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize)
    } catch { throw .file(error) }
    try self.init(parsing: bytes)
  }

  /// Takes a file's text.
  public init(parsing bytes: [UInt8]) throws(UserTokensError) {
    self.bytes = bytes
    if bytes.withUnsafeBytes({ TokenSearch.beginsWithMark($0) }) { throw .notText(line: 1) }
  }

  /// The token that the file at `path` has for the user now, for a sign-in; nil without one. Throws if others have the
  /// same token, unless `sharing` allows it. Always throws if one of them is root.
  ///
  /// It gives the same result as ``init(path:)`` and ``token(of:)``, in less time and memory.
  public static func token(
    of user: UnixUsername, inFile path: String, sharing: SharedTokens,
    isRoot: (UnixUsername) throws(UserLookupError) -> Bool = UnixUsername.isRoots
  ) throws(UserTokensError) -> Secret? {
    let file: PieceFile
    do { file = try PieceFile(path, privacy: .secret, limit: greatestSize) } catch { throw .file(error) }
    return try token(of: user, in: file, sharing: sharing, isRoot: isRoot)
  }

  static func token(
    of user: UnixUsername, in file: PieceFile, sharing: SharedTokens,
    isRoot: (UnixUsername) throws(UserLookupError) -> Bool = UnixUsername.isRoots
  ) throws(UserTokensError) -> Secret? {
    var search = TokenSearch(user)
    var holders: TokenHolders?
    var whole: [UInt8] = []
    do {
      try file.read { search.look(at: $0) }
      holders = search.token.map { TokenHolders(of: $0) }
      if !search.hasTrouble { try file.read { holders?.look(at: $0) ?? false } }
      if search.hasTrouble {
        try file.read {
          whole += $0
          return true
        }
      }
    } catch { throw .file(error) }
    // The number of the bad line needs the whole file.
    if search.hasTrouble { return try UserTokens(parsing: whole).token(of: user, sharing: sharing, isRoot: isRoot) }
    guard let token = search.token, let holders else { return nil }
    if let refusal = sharing.refusal(of: user, holders.names, isRoot: isRoot) { throw refusal }
    return token
  }

  /// The user's token for a sign-in, as ``token(of:inFile:sharing:isRoot:)``.
  func token(
    of user: UnixUsername, sharing: SharedTokens, isRoot: (UnixUsername) throws(UserLookupError) -> Bool
  ) throws(UserTokensError) -> Secret? {
    guard let token = try token(of: user) else { return nil }
    var holders = TokenHolders(of: token)
    _ = bytes.withUnsafeBytes { holders.look(at: $0) }
    if let refusal = sharing.refusal(of: user, holders.names, isRoot: isRoot) { throw refusal }
    return token
  }

  /// The user's token, even if others have it too; nil if the file names no token for this user.
  public func token(of user: UnixUsername) throws(UserTokensError) -> Secret? {
    let key = TokenSearch.key(of: user)
    guard key.first != UInt8(ascii: "#") else { return nil }
    if let damaged = bytes.withUnsafeBytes({ TokenSearch.damagedLine(for: key, in: $0) }) {
      throw .notText(line: line(at: damaged))
    }
    var token: Secret?
    var next = 0
    while let found = bytes.withUnsafeBytes({ TokenSearch.line(beginning: key, in: $0, from: next) }) {
      next = found + 1
      guard token == nil else { throw .userNamedTwice(line: line(at: found)) }
      let value = bytes.withUnsafeBytes { TokenSearch.value(in: $0, from: found + key.count) }
      guard Self.isToken(value) else { throw .badToken(line: line(at: found)) }
      token = Secret(bytes: value)
    }
    return token
  }

  /// The users who have this token, as their lines spell them, `greatest` at most.
  public func users(having token: Secret, greatest: Int = SharedTokens.greatestCount + 1) -> [String] {
    var holders = TokenHolders(of: token, greatest: greatest)
    _ = bytes.withUnsafeBytes { holders.look(at: $0) }
    return holders.names
  }

  /// Users who have one token, for each token that several have; in the file's order.
  public func sharedTokens() -> [[String]] {
    var users: [[UInt8]: [String]] = [:]
    var order: [[UInt8]] = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let token = Array(line[(colon + 1)...])
      guard Self.isToken(token) else { continue }
      if users[token] == nil { order.append(token) }
      users[token, default: []].append(String(decoding: line[..<colon], as: UTF8.self))
    }
    return order.compactMap { users[$0] }.filter { $0.count > 1 }
  }

  /// Numbers of the lines, counted from 1, that have a NUL or a carriage return, without comments.
  public func damagedLines() -> [Int] {
    var numbers: [Int] = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard line.first != UInt8(ascii: "#"), line.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") }) else {
        continue
      }
      numbers.append(number)
    }
    return numbers
  }

  private func line(at index: Int) -> Int { bytes[..<index].count { $0 == UInt8(ascii: "\n") } + 1 }

  /// All users, in the file's order. Empty lines and lines that begin with `#` are skipped.
  public func users() -> [String] {
    bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard line.first != UInt8(ascii: "#"), let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      return String(decoding: line[..<colon], as: UTF8.self)
    }
  }

  /// All users with their tokens, in the file's order.
  ///
  /// Unlike ``users()``, throws for any line that a sign-in would not take.
  public func entries() throws(UserTokensError) -> [(user: UnixUsername, token: Secret)] {
    try numberedEntries().map { ($0.user, $0.token) }
  }

  /// All users with their tokens and line numbers, counted from 1. Throws as ``entries()`` does.
  public func numberedEntries() throws(UserTokensError) -> [(line: Int, user: UnixUsername, token: Secret)] {
    var entries: [(Int, UnixUsername, Secret)] = []
    var seen: Set<UnixUsername> = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      // Comments are checked too: text after the character may be a user's line, for which a sign-in would fail.
      guard !line.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") }) else { throw .notText(line: number) }
      guard !line.isEmpty, line.first != UInt8(ascii: "#") else { continue }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let user = UnixUsername(validating: String(decoding: line[..<colon], as: UTF8.self)),
        Self.isToken(Array(line[(colon + 1)...]))
      else { throw .badToken(line: number) }
      guard seen.insert(user).inserted else { throw .userNamedTwice(line: number) }
      entries.append((number, user, Secret(bytes: Array(line[(colon + 1)...]))))
    }
    return entries
  }

  /// Printable ASCII without space, quote, colon or backslash: it must fit into a line and into an address.
  public static func isToken(_ bytes: [UInt8]) -> Bool {
    (1...greatestTokenLength).contains(bytes.count)
      && bytes.allSatisfy { (0x21...0x7E).contains($0) && !Array(":\"\\".utf8).contains($0) }
  }
}
