import IAMPASSProtocol

/// Why the users file is not used.
public enum UserTokensError: Error, Sendable, Equatable {
  case file(FileError)
  /// Not text: a NUL, a carriage return or a byte order mark, at this line.
  case notText(line: Int)
  /// The user's line, at this number, has no token or one with characters that a token cannot have.
  case badToken(line: Int)
  case userNamedTwice(line: Int)
  /// The file has the user with a token that is not the one to be added.
  case hasAnotherToken(String)
  /// The token to be added is this user's in the file.
  case tokenIsAnothers(String)

  public func explanation(path: String) -> String {
    switch self {
    case .file(let error): error.explanation
    case .notText(let line): "\(path):\(line): not a line of text (NUL, carriage return or byte order mark)"
    case .badToken(let line): "\(path):\(line): no usable token"
    case .userNamedTwice(let line): "\(path):\(line): user named twice"
    case .hasAnotherToken(let user): "\(path): \(DisplayText.sanitized(user, limit: 64)) has another token already"
    case .tokenIsAnothers(let user): "\(path): this token is \(DisplayText.sanitized(user, limit: 64))'s"
    }
  }
}

/// `/etc/iampass/users`: a line `username:token` a user.
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
    if let line = Self.lineThatIsNoText(bytes) { throw .notText(line: line) }
  }

  /// The token that the file at `path` has for the user now; nil where it has none.
  ///
  /// The same as reading the whole file and asking it, in less time and memory: a sign-in comes this way.
  public static func token(of user: UnixUsername, inFile path: String) throws(UserTokensError) -> Secret? {
    var search = TokenSearch(user)
    do {
      try SecureFile.readPieces(path, privacy: .secret, limit: greatestSize) { search.look(at: $0) }
    } catch { throw .file(error) }
    // Which line is wrong can be said by who reads it whole.
    return search.hasTrouble ? try UserTokens(path: path).token(of: user) : search.token
  }

  /// The user's token; nil where the file has none for this user.
  public func token(of user: UnixUsername) throws(UserTokensError) -> Secret? {
    let key = TokenSearch.key(of: user)
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

  /// The user who has this token, as his line spells him; nil where nobody has.
  func user(having token: Secret) -> String? {
    let value = token.exposedBytes
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line[(colon + 1)...].elementsEqual(value) else {
        continue
      }
      return String(decoding: line[..<colon], as: UTF8.self)
    }
    return nil
  }

  private func line(at index: Int) -> Int { bytes[..<index].count { $0 == UInt8(ascii: "\n") } + 1 }

  /// All users, in the file's order. Empty lines and lines that begin with `#` are passed over.
  public func users() -> [String] {
    bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard line.first != UInt8(ascii: "#"), let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      return String(decoding: line[..<colon], as: UTF8.self)
    }
  }

  /// All users with their tokens, in the file's order.
  ///
  /// Unlike ``users()``, refuses the file for any line that no sign-in would take.
  public func entries() throws(UserTokensError) -> [(user: UnixUsername, token: Secret)] {
    var entries: [(UnixUsername, Secret)] = []
    var seen: Set<UnixUsername> = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard !line.isEmpty, line.first != UInt8(ascii: "#") else { continue }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let user = UnixUsername(validating: String(decoding: line[..<colon], as: UTF8.self)),
        Self.isToken(Array(line[(colon + 1)...]))
      else { throw .badToken(line: number) }
      guard seen.insert(user).inserted else { throw .userNamedTwice(line: number) }
      entries.append((user, Secret(bytes: Array(line[(colon + 1)...]))))
    }
    return entries
  }

  /// Printable ASCII without space, quote, colon or backslash: it stands in a line and in an address.
  public static func isToken(_ bytes: [UInt8]) -> Bool {
    (1...greatestTokenLength).contains(bytes.count)
      && bytes.allSatisfy { (0x21...0x7E).contains($0) && !Array(":\"\\".utf8).contains($0) }
  }

  private static func lineThatIsNoText(_ bytes: [UInt8]) -> Int? {
    if bytes.starts(with: TokenSearch.byteOrderMark) { return 1 }
    guard let index = bytes.withUnsafeBytes({ TokenSearch.nonText(in: $0) }) else { return nil }
    return bytes[..<index].count { $0 == UInt8(ascii: "\n") } + 1
  }
}
