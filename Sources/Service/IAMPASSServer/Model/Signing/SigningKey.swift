import IAMPASSProtocol
import JWTKit

/// A key by which the service signs approval tokens: ES256 (RFC 7518 §3.4).
struct SigningKey: Sendable {
  /// Seconds for which a new key is only published: whoever keeps a copy of the keys may not ask again at once.
  static let lead: Int64 = 15 * 60
  /// Seconds for which a key that signs no more is still published: its last token's lifetime, and verifiers' clocks.
  static let afterlife = ApprovalToken.lifetime + 300

  /// The key's thumbprint (RFC 7638), `kid` in tokens.
  let id: String
  /// PEM of the private key.
  let pem: Secret
  let madeAt: UnixTime
  private let key: ES256PrivateKey
  private let x, y: String

  /// A new key from the system's generator.
  static func generate(at now: UnixTime) throws -> SigningKey {
    try SigningKey(pem: Secret(ES256PrivateKey().pemRepresentation), madeAt: now)
  }

  /// Throws: if the PEM is not of a P-256 private key.
  init(pem: Secret, madeAt: UnixTime) throws {
    key = try ES256PrivateKey(pem: pem.exposedValue)
    guard let (x, y) = key.parameters.map({ (Self.urlSafe($0.x), Self.urlSafe($0.y)) }) else {
      throw DamagedSigningKey()
    }
    self.x = x
    self.y = y
    self.pem = pem
    self.madeAt = madeAt
    let thumbprint: JSON = .object([
      "crv": .string("P-256"), "kty": .string("EC"), "x": .string(x), "y": .string(y),
    ])
    id = Base64URL.encode(Digest.sha256(thumbprint.canonicallyEncoded()))
  }

  private static func urlSafe(_ base64: String) -> String { Base64.decode(base64).map(Base64URL.encode) ?? "" }

  /// The only key signs at once.
  var signsFrom: UnixTime { madeAt.advanced(seconds: Self.lead) }

  /// A JWK (RFC 7517) without the private part.
  var published: JSON {
    .object([
      "kty": .string("EC"), "crv": .string("P-256"), "x": .string(x), "y": .string(y), "kid": .string(id),
      "use": .string("sig"), "alg": .string("ES256"),
    ])
  }

  /// The compact form of a JWT with these claims.
  func sign(_ claims: some JWTPayload) async throws -> String {
    let name = JWKIdentifier(string: id)
    return try await JWTKeyCollection().add(ecdsa: key, kid: name).sign(claims, kid: name)
  }
}

extension [SigningKey] {
  /// The one that signs, if these are the published keys, the newest first. The only key does so at once.
  func signer(at now: UnixTime) -> SigningKey? { first { $0.signsFrom <= now } ?? last }

  /// Those that sign, will sign, or have signed what may still be verified, if these are all keys, the newest first.
  func published(at now: UnixTime) -> [SigningKey] {
    prefix(1) + zip(dropFirst(), self).filter { now < $1.signsFrom.advanced(seconds: SigningKey.afterlife) }.map(\.0)
  }
}

/// A stored key cannot be used.
struct DamagedSigningKey: Error {}
