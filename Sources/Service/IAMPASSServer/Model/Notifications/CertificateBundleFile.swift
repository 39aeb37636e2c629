import CLibcrypto
import IAMPASSProtocol

/// Opens PKCS #12 files (RFC 7292). A file of Apple's Keychain may need libcrypto's legacy provider, for RC2 with 40
/// bits.
enum CertificateBundleFile {
  /// The certificate, then its chain, and the private key: DER each.
  static func open(
    _ bytes: [UInt8], passphrase: Secret
  ) throws(NotificationFault) -> (chain: [[UInt8]], key: [UInt8]) {
    guard iampass_crypto_start() == 1 else { throw .bundleNotOpened }
    _ = OSSL_PROVIDER_load(nil, "default")
    // The provider may be missing. Newer files do not need it.
    _ = OSSL_PROVIDER_load(nil, "legacy")
    // SAFETY: d2i_PKCS12 copies its input and reads no further than the count; what libcrypto made is freed once, below.
    let read: OpaquePointer? = bytes.withUnsafeBufferPointer {
      var start = $0.baseAddress
      return d2i_PKCS12(nil, &start, bytes.count)
    }
    guard let bundle = read else { throw .bundleNotOpened }
    defer { PKCS12_free(bundle) }
    var key: OpaquePointer?
    var certificate: OpaquePointer?
    var others: OpaquePointer?
    defer {
      EVP_PKEY_free(key)
      X509_free(certificate)
      iampass_free_certificates(others)
    }
    guard PKCS12_parse(bundle, passphrase.exposedValue, &key, &certificate, &others) == 1 else {
      throw .bundleNotOpened
    }
    guard let key, let certificate else { throw .bundleIncomplete }
    var chain = [try der { i2d_X509(certificate, $0) }]
    for place in 0..<max(iampass_count_certificates(others), 0) {
      let other = iampass_certificate(others, place)
      chain.append(try der { i2d_X509(other, $0) })
    }
    return (chain, try der { i2d_PrivateKey(key, $0) })
  }

  /// The output of one of libcrypto's `i2d` functions.
  private static func der(
    _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
  ) throws(NotificationFault) -> [UInt8] {
    let length = write(nil)
    guard length > 0 else { throw .bundleIncomplete }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let written = bytes.withUnsafeMutableBufferPointer { buffer in
      var start = buffer.baseAddress
      return write(&start)
    }
    guard written == length else { throw .bundleIncomplete }
    return bytes
  }
}
