/// How to sign a request: the documentation and the published clients differ.
public enum SigningScheme: String, Sendable, CaseIterable {
  /// As the documentation specifies.
  case documented
  /// As the published Python clients sign.
  case client
}

/// Why a signer cannot be made.
public enum SigningError: Error, Equatable, Sendable {
  /// The documented scheme needs 24 bytes: 24 characters, or 32 base64 characters.
  case secretIsNot24Bytes
}

/// Signs requests of protocol 1 for one identity: an application, a host credential, or a session.
public struct RequestSigner: Sendable {
  /// A service refuses requests whose time stamp is further from its own clock than this, in seconds.
  public static let clockWindow: Int64 = 300
  /// The bytes of SHA-256 and HMAC-SHA-256 that a signature uses, counted from the left.
  private static let signatureLength = 16
  /// The length of a secret in the documented scheme, in bytes.
  private static let documentedSecretLength = 24

  /// A session's token is a secret. An application's id is not, and is kept the same way.
  private let client: Secret
  public let scheme: SigningScheme
  /// The secret as the scheme puts it into the token's hash.
  private let keyMaterial: Secret

  public init(clientID: String, secret: Secret, scheme: SigningScheme) throws(SigningError) {
    try self.init(client: Secret(clientID), secret: secret, scheme: scheme)
  }

  public init(client: Secret, secret: Secret, scheme: SigningScheme) throws(SigningError) {
    self.client = client
    self.scheme = scheme
    switch scheme {
    case .client: keyMaterial = secret
    case .documented: keyMaterial = Secret(bytes: try RequestSigner.documentedKey(secret))
    }
  }

  /// The `Authentication` header's value for a request.
  ///
  /// - Parameters:
  ///   - nonce: the nonce's decimal text, as sent.
  ///   - timestamp: the Unix time in seconds, as sent.
  ///   - uri: the full request URI with scheme and query.
  public func authentication(nonce: String, timestamp: String, uri: String) -> String? {
    signature(nonce: nonce, timestamp: timestamp, uri: uri).map { "hmac \(client.exposedValue):\(nonce):\($0)" }
  }

  /// The base64 of the signature; nil if the nonce is not 1–20 digits below 2^64, or if ``covered(_:)`` is nil.
  public func signature(nonce: String, timestamp: String, uri: String) -> String? {
    guard let token = token(nonce: nonce), let covered = covered(uri) else { return nil }
    let text = nonce + covered + timestamp
    return Base64.encode(Array(Digest.hmacSHA256(key: token, Array(text.utf8)).prefix(Self.signatureLength)))
  }

  /// The left 16 bytes of the hash over nonce and secret.
  func token(nonce: String) -> [UInt8]? {
    guard let number = RequestSigner.nonceValue(nonce) else { return nil }
    let head: [UInt8] =
      switch scheme {
      case .documented: (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
      case .client: Array(nonce.utf8)
      }
    return Array(Digest.sha256(head + keyMaterial.exposedBytes).prefix(Self.signatureLength))
  }

  /// The value of 1–20 decimal digits below 2^64; nil for any other text.
  public static func nonceValue(_ text: String) -> UInt64? {
    guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return UInt64(text)
  }

  /// The part of an address that a signature covers. ``SigningScheme/client`` leaves out the scheme. The documented
  /// scheme covers everything.
  ///
  /// Nil if `://` occurs twice. The published clients' `re.sub(".*://", "")` removes everything up to the last `://`.
  /// An attacker could exchange that part and keep the signature valid.
  public func covered(_ uri: String) -> String? {
    guard let start = Self.afterMarker(uri.utf8[...]) else { return uri }
    guard !Self.isAmbiguous(target: start) else { return nil }
    return scheme == .client ? String(Substring(start)) : uri
  }

  /// Whether a request's target, path and query, contains a raw `://`. An encoded one, such as `%3A%2F%2F`, is
  /// harmless.
  public static func isAmbiguous(target: Substring.UTF8View) -> Bool { afterMarker(target) != nil }

  /// The text after the first `://`; nil without one.
  private static func afterMarker(_ text: Substring.UTF8View) -> Substring.UTF8View? {
    var rest = text
    while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
      rest = rest[rest.index(after: colon)...]
      if rest.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) { return rest.dropFirst(2) }
    }
    return nil
  }

  private static func documentedKey(_ secret: Secret) throws(SigningError) -> [UInt8] {
    let text = secret.exposedBytes
    if text.count == documentedSecretLength { return text }
    if let decoded = Base64.decode(secret.exposedValue), decoded.count == documentedSecretLength { return decoded }
    throw .secretIsNot24Bytes
  }
}
