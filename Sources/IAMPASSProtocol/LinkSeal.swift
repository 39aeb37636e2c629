/// Seals a registration link for the one who asked for it: whoever carries the reply could else register a phone by it.
///
/// A key stream by HMAC-SHA-256 in counter mode, then a tag by HMAC-SHA-256 over what was encrypted. Not AES: libmd has no
/// cipher, and what sudo loads has no libcrypto.
public struct LinkSeal: Sendable {
  /// Bytes of the random start of each sealed text: even a nonce that came twice gives no key stream twice.
  public static let saltLength = 16
  /// Bytes of the tag, whole.
  private static let tagLength = 32

  private let key: Secret
  private let nonce: String

  /// - Parameters:
  ///   - secret: the application's.
  ///   - nonce: of the request that asks for the link, as sent.
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

  /// The link; nil where `text` was sealed by another secret, for another request, or was changed.
  public func opened(_ text: String) -> String? {
    guard let bytes = Base64.decode(text), bytes.count > Self.saltLength + Self.tagLength else { return nil }
    let salt = Array(bytes.prefix(Self.saltLength))
    let encrypted = Array(bytes.dropFirst(Self.saltLength).dropLast(Self.tagLength))
    guard Digest.areEqual(Array(bytes.suffix(Self.tagLength)), tag(encrypted, salt)) else { return nil }
    return String(validating: exchanged(encrypted, salt), as: UTF8.self)
  }

  /// Plain for encrypted, and the other way round.
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

  /// A key of its own for each purpose, request and salt; only the salt, of fixed length, may have a line's end in it.
  private func derived(_ purpose: String, _ salt: [UInt8]) -> [UInt8] {
    Digest.hmacSHA256(key: key.exposedBytes, Array("\(purpose)\n\(nonce)\n".utf8) + salt)
  }
}
