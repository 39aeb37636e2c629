import CLibcrypto
import Foundation
import FuzzKit

/// The signatures of protocol 1 a second time, from the documentation: by OpenSSL's one-call functions and Foundation.
enum ReferenceSignature {
  /// Whether one of the two schemes, over one of these addresses, makes this signature.
  static func isRight(_ signature: String, nonce: String, secret: String, timestamp: String, uris: [String]) -> Bool {
    guard let number = UInt64(nonce), nonce.allSatisfy({ $0.isASCII && $0.isNumber }) else { return false }
    return uris.contains { uri in
      signature == documented(number, nonce, secret, timestamp, uri)
        || signature == client(nonce, secret, timestamp, uri)
    }
  }

  static func documented(
    _ number: UInt64, _ nonce: String, _ secret: String, _ timestamp: String, _ uri: String
  ) -> String? {
    let key = secret.utf8.count == 24 ? Array(secret.utf8) : Data(base64Encoded: secret).map { Array($0) }
    guard let key, key.count == 24 else { return nil }
    let token = sha256(withUnsafeBytes(of: number.bigEndian) { Array($0) } + key).prefix(16)
    return leftHalf(hmac(Array(token), nonce + uri + timestamp))
  }

  static func client(_ nonce: String, _ secret: String, _ timestamp: String, _ uri: String) -> String {
    let token = sha256(Array((nonce + secret).utf8)).prefix(16)
    let rest = uri.range(of: "://", options: .backwards).map { String(uri[$0.upperBound...]) } ?? uri
    return leftHalf(hmac(Array(token), nonce + rest + timestamp))
  }

  /// The service's own over a reply.
  static func reply(secret: String, nonce: String, status: Int, body: [UInt8]) -> String {
    Data(hmac(sha256(Array(("reply" + secret).utf8)), Array((nonce + String(status)).utf8) + body))
      .base64EncodedString()
  }

  private static func leftHalf(_ mac: [UInt8]) -> String { Data(mac.prefix(16)).base64EncodedString() }

  private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    // SAFETY: SHA256 writes 32 bytes.
    SHA256(bytes, bytes.count, &digest)
    return digest
  }

  private static func hmac(_ key: [UInt8], _ text: String) -> [UInt8] { hmac(key, Array(text.utf8)) }

  private static func hmac(_ key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 32
    // SAFETY: HMAC writes no more than a SHA-256.
    HMAC(EVP_sha256(), key, CInt(key.count), bytes, bytes.count, &mac, &length)
    return mac
  }
}
