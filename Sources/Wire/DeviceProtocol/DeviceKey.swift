import CLibcrypto
import IAMPASSProtocol

/// Why a phone's key could not be read, made or used.
public enum DeviceKeyError: Error, Equatable, Sendable {
  /// libcrypto failed.
  case notMade
  /// Not the base64 of a P-256 key's `SubjectPublicKeyInfo`, or of the private key.
  case notAKey
  case notSigned
}

/// A phone's private key: ECDSA over P-256 (FIPS 186-5), as WebCrypto's `ECDSA` with `P-256` and `SHA-256`.
///
/// SAFETY of `@unchecked Sendable`: only `init` writes libcrypto's key, and its references are counted atomically.
public final class DeviceKey: @unchecked Sendable {
  private let key: OpaquePointer

  private init(adopting key: OpaquePointer) { self.key = key }

  deinit { EVP_PKEY_free(key) }

  /// A new key from the system's generator.
  public static func generate() throws(DeviceKeyError) -> DeviceKey {
    guard iampass_crypto_start() == 1, let made = iampass_new_p256_key() else { throw .notMade }
    return DeviceKey(adopting: made)
  }

  /// Reads a key that ``exported()`` wrote.
  public convenience init(exported: Secret) throws(DeviceKeyError) {
    guard let bytes = Base64.decode(exported.exposedValue), !bytes.isEmpty else { throw .notAKey }
    let read: OpaquePointer? = bytes.withUnsafeBufferPointer {
      var start = $0.baseAddress
      return d2i_AutoPrivateKey(nil, &start, bytes.count)
    }
    guard let read else { throw .notAKey }
    self.init(adopting: read)
    // A key of another kind would make signatures that are refused only later.
    _ = try publicKey
  }

  /// The base64 of the DER form (RFC 5915), for the phone's state file only.
  public func exported() throws(DeviceKeyError) -> Secret {
    Secret(Base64.encode(try Self.der { i2d_PrivateKey(key, $0) }))
  }

  public var publicKey: DevicePublicKey {
    get throws(DeviceKeyError) { try DevicePublicKey(Base64.encode(try Self.der { i2d_PUBKEY(key, $0) })) }
  }

  /// 64 bytes, r then s, over the SHA-256 of `message`, as WebCrypto makes them.
  public func signature(over message: [UInt8]) throws(DeviceKeyError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw .notSigned }
    defer { EVP_MD_CTX_free(context) }
    var length = 0
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      EVP_DigestSign(context, nil, &length, message, message.count) == 1
    else { throw .notSigned }
    var encoded = [UInt8](repeating: 0, count: length)
    guard EVP_DigestSign(context, &encoded, &length, message, message.count) == 1 else { throw .notSigned }
    guard let raw = ECDSASignature.raw(der: Array(encoded.prefix(length))) else { throw .notSigned }
    return raw
  }

  /// 32 bytes that the owner of `other` can compute too: the plain x coordinate of ECDH (SP 800-56A).
  public func agreement(with other: DevicePublicKey) throws(DeviceKeyError) -> [UInt8] {
    guard let context = EVP_PKEY_CTX_new(key, nil) else { throw .notMade }
    defer { EVP_PKEY_CTX_free(context) }
    var length = 32
    var shared = [UInt8](repeating: 0, count: length)
    guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other.key) == 1,
      EVP_PKEY_derive(context, &shared, &length) == 1, length == shared.count
    else { throw .notMade }
    return shared
  }

  /// The output of one of libcrypto's `i2d` functions.
  private static func der(
    _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
  ) throws(DeviceKeyError) -> [UInt8] {
    let length = write(nil)
    guard length > 0 else { throw .notMade }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let written = bytes.withUnsafeMutableBufferPointer { buffer in
      var start = buffer.baseAddress
      return write(&start)
    }
    guard written == length else { throw .notMade }
    return bytes
  }
}

/// A phone's public key: the base64 of its `SubjectPublicKeyInfo` (RFC 5480), as WebCrypto exports it as `spki`.
///
/// SAFETY of `@unchecked Sendable`: only `init` writes libcrypto's key.
public final class DevicePublicKey: @unchecked Sendable {
  private let form: P256PublicKey
  fileprivate let key: OpaquePointer

  public var text: String { form.text }
  /// 64 bytes, x then y.
  public var coordinates: [UInt8] { form.coordinates }
  /// The uncompressed point (SEC 1 §2.3.3): 65 bytes, the first of them 4.
  public var point: [UInt8] { form.point }

  /// - Parameter point: in the form of ``point``.
  public convenience init(point: [UInt8]) throws(DeviceKeyError) {
    guard let form = P256PublicKey(point: point) else { throw .notAKey }
    try self.init(form)
  }

  public convenience init(_ text: String) throws(DeviceKeyError) {
    guard let form = P256PublicKey(text) else { throw .notAKey }
    try self.init(form)
  }

  private init(_ form: P256PublicKey) throws(DeviceKeyError) {
    let bytes = form.encoded
    let read: OpaquePointer? = bytes.withUnsafeBufferPointer {
      var start = $0.baseAddress
      return d2i_PUBKEY(nil, &start, bytes.count)
    }
    // libcrypto refuses a point that does not lie on the curve.
    guard let read else { throw .notAKey }
    self.form = form
    key = read
  }

  deinit { EVP_PKEY_free(key) }

  /// Whether `signature`, 64 bytes r then s, is this key's signature over the SHA-256 of `message`.
  public func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
    guard let encoded = ECDSASignature.der(raw: signature), let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
    // Only 1 is a right signature: 0 is a wrong one, and less is an error.
    return EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
  }

  /// As ``verifies(_:over:)``, over a known digest of 32 bytes.
  func verifies(_ signature: [UInt8], overDigest digest: [UInt8]) -> Bool {
    guard let encoded = ECDSASignature.der(raw: signature), let context = EVP_PKEY_CTX_new(key, nil) else {
      return false
    }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_verify_init(context) == 1 else { return false }
    return EVP_PKEY_verify(context, encoded, encoded.count, digest, digest.count) == 1
  }
}

/// Converts between the raw form of WebCrypto and the DER form of libcrypto.
enum ECDSASignature {
  /// The length of r and of s in bytes.
  private static let half = 32

  static func raw(der: [UInt8]) -> [UInt8]? {
    let read: OpaquePointer? = der.withUnsafeBufferPointer {
      var start = $0.baseAddress
      return d2i_ECDSA_SIG(nil, &start, der.count)
    }
    guard let read else { return nil }
    defer { ECDSA_SIG_free(read) }
    var r = [UInt8](repeating: 0, count: half)
    var s = r
    guard BN_bn2binpad(ECDSA_SIG_get0_r(read), &r, Int32(half)) == half,
      BN_bn2binpad(ECDSA_SIG_get0_s(read), &s, Int32(half)) == half
    else { return nil }
    return r + s
  }

  static func der(raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 2 * half, let signature = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(signature) }
    guard let r = BN_bin2bn(Array(raw.prefix(half)), Int32(half), nil),
      let s = BN_bin2bn(Array(raw.suffix(half)), Int32(half), nil),
      ECDSA_SIG_set0(signature, r, s) == 1
    else { return nil }
    let length = i2d_ECDSA_SIG(signature, nil)
    guard length > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let written = bytes.withUnsafeMutableBufferPointer { buffer in
      var start = buffer.baseAddress
      return i2d_ECDSA_SIG(signature, &start)
    }
    return written == length ? bytes : nil
  }
}
