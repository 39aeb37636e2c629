/// The public keys of a phone, by which a computer knows it.
public struct PhoneKeys: Sendable, Equatable {
  /// The WebAuthn credential for the method `device`.
  public struct Credential: Sendable, Equatable {
    /// Base64url without padding.
    public let id: String
    /// The base64 of its `SubjectPublicKeyInfo`.
    public let publicKey: String

    public init(id: String, publicKey: String) {
      self.id = id
      self.publicKey = publicKey
    }

    /// Throws if a member is missing or empty.
    public init(_ json: JSON) throws(MessageError) {
      guard let id = json["id"]?.string, !id.isEmpty else { throw .member("credential.id") }
      guard let publicKey = json["public_key"]?.string, !publicKey.isEmpty else {
        throw .member("credential.public_key")
      }
      self.init(id: id, publicKey: publicKey)
    }

    public var json: JSON { .object(["id": .string(id), "public_key": .string(publicKey)]) }
  }

  /// The base64 of the `SubjectPublicKeyInfo` of the phone's own key.
  public let publicKey: String
  /// Nil for a phone that can only be tapped.
  public let credential: Credential?

  public init(publicKey: String, credential: Credential?) {
    self.publicKey = publicKey
    self.credential = credential
  }

  private var members: [JSON.Member] {
    [JSON.Member("public_key", .string(publicKey)), JSON.Member("credential", credential?.json ?? .null)]
  }

  /// The JSON from which ``words`` and ``digest`` are computed.
  public var json: JSON { .object(members) }

  /// The base64 of SHA-256 over ``json``. It shows only whether keys are the same.
  public var digest: String { Base64.encode(Digest.sha256(json.canonicallyEncoded())) }
}

// MARK: - A pin by the link

extension PhoneKeys {
  /// Bytes of the secret in a link's fragment.
  public static let pinSecretSize = 16
  /// The greatest length of `pin_mac` in bytes that a service accepts.
  public static let greatestPinMACLength = 64
  /// The beginning of a registration link's fragment. The secret follows as base64url without padding. Browsers and
  /// `iampass-phone` never send a fragment.
  public static let pinFragment = "pin="

  /// The base64 of HMAC-SHA-256. It proves that the owner of the link's secret has these keys.
  ///
  /// - Parameters:
  ///   - secret: ``pinSecretSize`` bytes.
  ///   - origin: scheme, host and port of the service.
  ///   - link: the last part of the registration link's path.
  public func pinMAC(secret: Secret, origin: String, link: Secret) -> String {
    let message: JSON = .object(
      members + [
        JSON.Member("purpose", .string("pin")), JSON.Member("origin", .string(origin)),
        JSON.Member("link", .string(link.exposedValue)),
      ])
    return Base64.encode(Digest.hmacSHA256(key: secret.exposedBytes, message.canonicallyEncoded()))
  }
}

// MARK: - Six words

extension PhoneKeys {
  private static let consonants = Array("bdfghjklmnprstvz")
  private static let vowels = Array("aiou")
  private static let lastVowels = Array("ao")
  /// The number of ``words``. Each stands for 11 bits.
  public static let wordCount = 6

  /// Six made-up words, for two people to compare: the first 66 bits of the digest of ``json``.
  ///
  /// A word is a consonant (4 bits), a vowel (2), a consonant (4) and one of two vowels (1).
  public var words: String {
    let digest = Digest.sha256(json.canonicallyEncoded())
    return (0..<Self.wordCount).map { place in
      Self.word((0..<11).reduce(0) { $0 << 1 | Self.bit(11 * place + $1, of: digest) })
    }.joined(separator: " ")
  }

  private static func word(_ bits: Int) -> String {
    String([consonants[bits >> 7], vowels[bits >> 5 & 3], consonants[bits >> 1 & 15], lastVowels[bits & 1]])
  }

  /// The most significant bit of a byte comes first.
  private static func bit(_ place: Int, of bytes: [UInt8]) -> Int { Int(bytes[place / 8] >> (7 - place % 8) & 1) }
}
