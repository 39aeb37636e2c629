/// A user in a signed list: the Unix name, the phones whose approvals count, and the user's token at the service.
public struct UserListLine: Sendable, Equatable {
  /// The greatest number of a user's phones. A computer trusts no more.
  public static let greatestPhoneCount = 4
  /// The greatest length of a name in bytes.
  private static let greatestNameLength = 64
  /// The greatest length of a token in bytes.
  private static let greatestTokenLength = 512

  public let name: String
  /// Sorted by ``PinnedPhone/fields``.
  public let phones: [PinnedPhone]
  public let token: Secret

  /// Nil for a user whom no computer accepts: root, a malformed name or token, more than ``greatestPhoneCount`` phones,
  /// or a repeated phone.
  public init?(name: String, phones: [PinnedPhone], token: Secret) {
    guard Self.isName(name), phones.count <= Self.greatestPhoneCount, Self.isToken(token) else { return nil }
    guard Set(phones.map(\.id)).count == phones.count, Set(phones.map(\.key.text)).count == phones.count else {
      return nil
    }
    self.name = name
    self.phones = phones.sorted { $0.fields.utf8.lexicographicallyPrecedes($1.fields.utf8) }
    self.token = token
  }

  /// Refuses every form except that of ``json``.
  public init(_ json: JSON) throws(MessageError) {
    guard let items = json["phones"]?.array, items.count <= Self.greatestPhoneCount else { throw .member("phones") }
    var phones: [PinnedPhone] = []
    for item in items {
      guard let phone = item.string.flatMap(PinnedPhone.init(fields:)) else { throw .member("phones") }
      phones.append(phone)
    }
    guard
      let line = UserListLine(name: try json.text("name"), phones: phones, token: Secret(try json.text("token")))
    else { throw .member("name") }
    self = line
    guard json.isSpelled(as: self.json) else { throw .member("name") }
  }

  /// Contains the token.
  public var json: JSON {
    .object([
      "name": .string(name), "phones": .array(phones.map { .string($0.fields) }), "token": .string(token.exposedValue),
    ])
  }

  /// SHA-256 over the lines as canonical JSON, sorted by the names' bytes, each followed by a newline.
  ///
  /// - Returns: nil if a name occurs twice.
  public static func digest(of lines: [UserListLine]) -> [UInt8]? {
    let sorted = lines.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    guard zip(sorted, sorted.dropFirst()).allSatisfy({ $0.name != $1.name }) else { return nil }
    var text: [UInt8] = []
    for line in sorted { text += line.json.canonicallyEncoded() + [UInt8(ascii: "\n")] }
    return Digest.sha256(text)
  }

  /// Whether the service accepts this name of a user or group. The rule is useradd(8)'s, and also allows dots and
  /// capitals, but never root.
  public static func isName(_ text: String) -> Bool {
    guard (1...greatestNameLength).contains(text.utf8.count), let first = text.utf8.first,
      first != UInt8(ascii: "-"), text != "root"
    else { return false }
    return text.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || Array("-_.@$".utf8).contains(byte)
    }
  }

  /// Whether the token is printable ASCII without quotes, colons and backslashes.
  private static func isToken(_ token: Secret) -> Bool {
    let bytes = token.exposedBytes
    return (1...greatestTokenLength).contains(bytes.count)
      && bytes.allSatisfy { (0x21...0x7E).contains($0) && !Array("\":\\".utf8).contains($0) }
  }
}
