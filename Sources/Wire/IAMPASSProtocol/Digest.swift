import CLibmd
import Glibc

/// SHA-256 from libmd, HMAC-SHA-256 and comparison built on it, and random bytes from the kernel.
///
/// This does not use OpenSSL's libcrypto. Loading it would take sudo two megabytes, and longer than everything else
/// that it loads for us.
public enum Digest {
  /// Bytes of a digest, and of a block of SHA-256 (FIPS 180-4).
  private static let size = Int(SHA256_DIGEST_LENGTH)
  private static let blockSize = Int(SHA256_BLOCK_LENGTH)

  /// The 32 bytes of SHA-256 (FIPS 180-4).
  public static func sha256(_ message: [UInt8]) -> [UInt8] { sha256(message, followedBy: []) }

  /// The 32 bytes of HMAC-SHA-256 (RFC 2104).
  public static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    var block = key.count > blockSize ? sha256(key) : key
    block += repeatElement(0, count: blockSize - block.count)
    defer { block.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
    var inner = block.map { $0 ^ 0x36 }
    var outer = block.map { $0 ^ 0x5C }
    defer {
      inner.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) }
      outer.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) }
    }
    return sha256(outer, followedBy: sha256(inner, followedBy: message))
  }

  private static func sha256(_ first: [UInt8], followedBy second: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: size)
    iampass_sha256(first, first.count, second, second.count, &digest)
    return digest
  }

  /// Whether both are the same bytes. The time does not depend on the place of a difference.
  public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && iampass_are_equal(left, right, left.count) != 0
  }

  /// `count` bytes, 256 at most, from the kernel's generator; nil if the kernel fails.
  public static func randomBytes(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return getentropy(&bytes, count) == 0 ? bytes : nil
  }

  /// 64 random bits for a request's nonce.
  public static func randomNonce() -> UInt64? {
    randomBytes(8).map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
  }

  /// 128 random bits as 32 hexadecimal digits: an identifier that cannot be guessed.
  public static func randomIdentifier() -> String? {
    randomBytes(16).map(hexadecimal)
  }

  /// Lower-case hexadecimal digits.
  public static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
  /// The bytes that ``hexadecimal(_:)`` writes so; nil for any other text.
  public static func bytes(hexadecimal text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(ofDigit: digits[place]), let low = value(ofDigit: digits[place + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(ofDigit digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
