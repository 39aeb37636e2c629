/// A phone whose keys this computer trusts for one Unix user.
public struct PinnedPhone: Sendable, Equatable {
  /// A WebAuthn credential of that phone, for the method `device`.
  public struct Credential: Sendable, Equatable {
    /// Base64url without padding.
    public let id: String
    public let key: P256PublicKey

    /// Nil if the id is empty, too long or not base64url.
    public init?(id: String, key: P256PublicKey) {
      guard let bytes = Base64URL.decode(id), PinnedPhone.credentialIDLengths.contains(bytes.count) else { return nil }
      self.id = id
      self.key = key
    }
  }

  /// The lengths of a credential's id in bytes (Web Authentication, level 2, §5.8.3).
  private static let credentialIDLengths = 1...1_023
  /// The lengths of a phone's id in bytes.
  private static let idLengths = 1...128
  /// The greatest length of a name in characters; more is cut off.
  public static let greatestNameLength = 64

  /// The service's own name for the phone: printable ASCII without a colon.
  public let id: String
  /// The phone's own key, which signs every answer.
  public let key: P256PublicKey
  /// Nil for a phone that can only be tapped.
  public let credential: Credential?
  /// Unix time in seconds at which this computer began to trust it.
  public let since: Int64
  /// The phone's name for people. It decides nothing.
  public let name: String

  /// Nil if the id is malformed, or `since` is negative.
  public init?(id: String, key: P256PublicKey, credential: Credential?, since: Int64, name: String) {
    guard Self.idLengths.contains(id.utf8.count), since >= 0,
      id.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") })
    else { return nil }
    self.id = id
    self.key = key
    self.credential = credential
    self.since = since
    self.name = DisplayText.sanitized(name, limit: Self.greatestNameLength)
  }

  /// Reads the service's description of a phone; nil if this computer does not accept the form of its keys or id.
  public init?(_ phone: UserPhonesReply.Phone, since: Int64) {
    guard let key = P256PublicKey(phone.keys.publicKey) else { return nil }
    var credential: Credential?
    if let told = phone.keys.credential {
      guard let key = P256PublicKey(told.publicKey), let usable = Credential(id: told.id, key: key) else { return nil }
      credential = usable
    }
    self.init(id: phone.id, key: key, credential: credential, since: since, name: phone.name)
  }

  /// The keys, to compare them or to make their words.
  public var keys: PhoneKeys {
    PhoneKeys(
      publicKey: key.text, credential: credential.map { PhoneKeys.Credential(id: $0.id, publicKey: $0.key.text) })
  }
}

// MARK: - As text

extension PinnedPhone {
  /// Nil unless these are the six ``fields``, each in its only form.
  public init?(fields text: String) {
    // This splits bytes, because a combining mark after a colon makes a different character, but leaves the byte.
    let fields = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 5, omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard fields.count == 6, let key = P256PublicKey(fields[1]), let since = Int64(fields[4]),
      String(since) == fields[4]
    else { return nil }
    let credential: Credential?
    if fields[2].isEmpty, fields[3].isEmpty {
      credential = nil
    } else {
      guard let key = P256PublicKey(fields[3]), let whole = Credential(id: fields[2], key: key) else { return nil }
      credential = whole
    }
    self.init(id: fields[0], key: key, credential: credential, since: since, name: fields[5])
    // A text that this version would write differently is refused.
    guard Array(self.fields.utf8) == Array(text.utf8) else { return nil }
  }

  /// `id:key:credential id:credential key:since:name`: a line of `/etc/iampass/phones` after the user's name and a
  /// colon, and the phone's part of what administrators sign.
  public var fields: String {
    [id, key.text, credential?.id ?? "", credential?.key.text ?? "", String(since), name].joined(separator: ":")
  }
}
