import CLibcrypto
import IAMPASSProtocol

/// Why a message for a browser was not sealed.
public enum PushSealingError: Error, Equatable, Sendable {
  /// The sealed message would be longer than a push service must accept (RFC 8030 §7.2).
  case tooLong
  /// libcrypto failed.
  case notSealed
}

/// Seals a message for one browser: `aes128gcm` (RFC 8188) with the keys of RFC 8291. The push service learns only its
/// length.
public struct PushSealing: Sendable {
  /// The greatest message in bytes: one record of 4096 less header, padding delimiter and tag.
  public static let greatestLength = 3_993
  private static let recordSize: [UInt8] = [0, 0, 16, 0]
  private static let tagLength = 16
  /// Bytes of the browser's shared secret, and of the salt.
  public static let secretLength = 16

  private let receiver: DevicePublicKey
  private let authentication: [UInt8]

  /// - Parameters:
  ///   - receiver: the subscription's `p256dh`.
  ///   - authentication: the subscription's `auth`, ``secretLength`` bytes.
  public init(receiver: DevicePublicKey, authentication: [UInt8]) {
    self.receiver = receiver
    self.authentication = authentication
  }

  /// The body to post, sealed with a new key and salt.
  public func seal(_ message: [UInt8]) throws -> [UInt8] {
    guard let salt = Digest.randomBytes(Self.secretLength) else { throw PushSealingError.notSealed }
    return try seal(message, by: try DeviceKey.generate(), salt: salt)
  }

  /// Takes a key and salt for the example of RFC 8291. Never use a key and salt twice.
  func seal(_ message: [UInt8], by sender: DeviceKey, salt: [UInt8]) throws -> [UInt8] {
    guard message.count <= Self.greatestLength else { throw PushSealingError.tooLong }
    let own = try sender.publicKey.point
    // RFC 8291 §3.4.
    let prepared = Digest.hmacSHA256(key: authentication, try sender.agreement(with: receiver))
    let information = Array("WebPush: info\0".utf8) + receiver.point + own
    let input = Self.expanded(prepared, information, length: 32)
    let root = Digest.hmacSHA256(key: salt, input)
    let key = Self.expanded(root, Array("Content-Encoding: aes128gcm\0".utf8), length: 16)
    let nonce = Self.expanded(root, Array("Content-Encoding: nonce\0".utf8), length: 12)
    // The delimiter 2 marks the last record. There is only one record.
    let record = try Self.encrypted(message + [2], key: key, nonce: nonce)
    return salt + Self.recordSize + [UInt8(own.count)] + own + record
  }

  /// The first block of HKDF's expansion (RFC 5869), or less.
  private static func expanded(_ key: [UInt8], _ information: [UInt8], length: Int) -> [UInt8] {
    Array(Digest.hmacSHA256(key: key, information + [1]).prefix(length))
  }

  /// AES-128-GCM, followed by its tag.
  private static func encrypted(_ text: [UInt8], key: [UInt8], nonce: [UInt8]) throws(PushSealingError) -> [UInt8] {
    guard let context = EVP_CIPHER_CTX_new() else { throw .notSealed }
    defer { EVP_CIPHER_CTX_free(context) }
    var sealed = [UInt8](repeating: 0, count: text.count)
    var rest = [UInt8](repeating: 0, count: tagLength)
    var tag = rest
    var length: Int32 = 0
    var restLength: Int32 = 0
    guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
      EVP_EncryptUpdate(context, &sealed, &length, text, Int32(text.count)) == 1, length == text.count,
      EVP_EncryptFinal_ex(context, &rest, &restLength) == 1, restLength == 0,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), &tag) == 1
    else { throw .notSealed }
    return sealed + tag
  }
}
