/// Seals a registration link for its requester. An intermediary could otherwise use the link to register their own
/// phone.
///
/// The key stream is HMAC-SHA-256 in counter mode. The tag is HMAC-SHA-256 over the encrypted text. AES is not
/// available: libmd has no cipher, and sudo must not load libcrypto.
public struct LinkSeal: Sendable {
  /// Random bytes at the start of each sealed text. Even a repeated nonce does not repeat a key stream.
  public static let saltLength = 16
  /// Bytes of the untruncated tag.
  private static let tagLength = 32

  private let key: Secret
  private let nonce: String

  /// - Parameters:
  /// - secret: the application's secret.
  /// - nonce: the nonce, as sent, of the request that asks for the link.
  public init(secret: Secret, nonce: String) {
    key = Secret(bytes: Digest.sha256(Array("sealed link".utf8) + secret.exposedBytes))
    self.nonce = nonce
  }

  /// Base64 of salt, encrypted link and tag.
  ///
  /// - Parameter salt: ``saltLength`` random bytes.
  public func sealed(_ link: String, salt: [UInt8]) -> String {
    let encrypted = exchanged(Array(link.utf8), salt)
    return Base64.encode(salt + encrypted + tag(encrypted, salt))
  }

  /// The link; nil if another secret or request sealed `text`, or if someone changed it.
  public func opened(_ text: String) -> String? {
    guard let bytes = Base64.decode(text), bytes.count > Self.saltLength + Self.tagLength else { return nil }
    let salt = Array(bytes.prefix(Self.saltLength))
    let encrypted = Array(bytes.dropFirst(Self.saltLength).dropLast(Self.tagLength))
    guard Digest.areEqual(Array(bytes.suffix(Self.tagLength)), tag(encrypted, salt)) else { return nil }
    return String(validating: exchanged(encrypted, salt), as: UTF8.self)
  }

  /// Encrypts and decrypts: the operation is its own inverse.
  private func exchanged(_ text: [UInt8], _ salt: [UInt8]) -> [UInt8] {
    let key = derived("encrypt", salt)
    var stream: [UInt8] = []
    var block: UInt32 = 0
    while stream.count < text.count {
      stream += Digest.hmacSHA256(key: key, (0..<4).map { UInt8(truncatingIfNeeded: block >> (24 - 8 * $0)) })
      block += 1
    }
    return zip(text, stream).map { $0 ^ $1 }
  }

  private func tag(_ encrypted: [UInt8], _ salt: [UInt8]) -> [UInt8] {
    Digest.hmacSHA256(key: derived("tag", salt), encrypted)
  }

  /// Derives a key for each purpose, request and salt. Only the salt may contain a newline, and its length is fixed.
  private func derived(_ purpose: String, _ salt: [UInt8]) -> [UInt8] {
    Digest.hmacSHA256(key: key.exposedBytes, Array("\(purpose)\n\(nonce)\n".utf8) + salt)
  }
}
