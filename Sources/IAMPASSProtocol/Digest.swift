import CLibcrypto
import Glibc

/// SHA-256, HMAC-SHA-256, and comparison, by OpenSSL's libcrypto; random bytes, by the kernel.
///
/// SHA-256 by the functions that need no provider: in OpenSSL 3 the first use of any other takes milliseconds and a
/// megabyte, in every sudo.
public enum Digest {
  /// Bytes of a digest, and of a block of SHA-256 (FIPS 180-4).
  private static let size = Int(SHA256_DIGEST_LENGTH)
  private static let blockSize = Int(SHA256_CBLOCK)

  /// The 32 bytes of SHA-256 (FIPS 180-4).
  public static func sha256(_ message: [UInt8]) -> [UInt8] { sha256(message, followedBy: []) }

  /// The 32 bytes of HMAC-SHA-256 (RFC 2104).
  public static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    var block = key.count > blockSize ? sha256(key) : key
    block += repeatElement(0, count: blockSize - block.count)
    defer { block.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    var inner = block.map { $0 ^ 0x36 }
    var outer = block.map { $0 ^ 0x5C }
    defer {
      inner.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
      outer.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
    return sha256(outer, followedBy: sha256(inner, followedBy: message))
  }

  private static func sha256(_ first: [UInt8], followedBy second: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: size)
    let done = iampass_sha256(first, first.count, second, second.count, &digest)
    precondition(done == 1, "libcrypto has no SHA-256")
    return digest
  }

  /// Whether both are the same bytes, in a time that does not depend on where they differ.
  public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  /// `count` bytes, 256 at most, from the kernel's generator; nil where it has none to give.
  ///
  /// Not RAND_bytes, whose first call in a process takes milliseconds to set up a generator of its own.
  public static func randomBytes(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return getentropy(&bytes, count) == 0 ? bytes : nil
  }

  /// 64 random bits for a request's nonce.
  public static func randomNonce() -> UInt64? {
    randomBytes(8).map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
  }

  /// 128 random bits as 32 hexadecimal digits: an identifier that nobody guesses.
  public static func randomIdentifier() -> String? {
    randomBytes(16).map(hexadecimal)
  }

  /// Lower-case hexadecimal digits.
  public static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// Base64 (RFC 4648 §4), strict: padding is needed, and nothing beside the alphabet is taken.
public enum Base64 {
  public static func encode(_ bytes: [UInt8]) -> String {
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let length = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
    return String(decoding: text.prefix(Int(length)), as: UTF8.self)
  }

  /// The bytes, or nil where `text` is not the encoding of any.
  public static func decode(_ text: String) -> [UInt8]? {
    let source = Array(text.utf8)
    guard source.count % 4 == 0 else { return nil }
    if source.isEmpty { return [] }
    var bytes = [UInt8](repeating: 0, count: source.count / 4 * 3)
    let length = EVP_DecodeBlock(&bytes, source, Int32(source.count))
    guard length >= 0 else { return nil }
    // EVP_DecodeBlock counts the padding as zero bytes.
    let padding = source.suffix(2).count { $0 == UInt8(ascii: "=") }
    let decoded = Array(bytes.prefix(Int(length) - padding))
    // It also skips white space and takes stray bits: only the canonical spelling comes back the same.
    return encode(decoded) == text ? decoded : nil
  }
}
