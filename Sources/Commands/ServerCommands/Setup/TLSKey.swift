import CLibcrypto
import Glibc

/// Why libcrypto cannot read or make a certificate or key.
enum CertificateError: Error, Sendable, Equatable {
  case noCertificate
  case noKey
  /// libcrypto failed.
  case notMade
  /// The authority may not sign for this name, or has expired. Has libcrypto's reason.
  case notAccepted(String)
}

/// A private key for TLS.
///
/// SAFETY of `@unchecked Sendable`: only `init` writes libcrypto's key, and its references are counted atomically.
final class TLSKey: @unchecked Sendable {
  let key: OpaquePointer

  private init(adopting key: OpaquePointer) { self.key = key }

  deinit { EVP_PKEY_free(key) }

  /// Makes a new P-256 key with the system's random numbers.
  static func generate() throws(CertificateError) -> TLSKey {
    guard iampass_crypto_start() == 1, let made = iampass_new_p256_key() else { throw .notMade }
    return TLSKey(adopting: made)
  }

  /// Reads the first private key of a PEM text. A key with a passphrase is refused, because it cannot be typed.
  convenience init(pem: [UInt8]) throws(CertificateError) {
    guard iampass_crypto_start() == 1, let memory = PEM.reader(pem) else { throw .notMade }
    defer { BIO_free(memory) }
    // Without this, libcrypto would ask at the terminal.
    let refuse: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
      _, _, _, _ in -1
    }
    guard let key = PEM_read_bio_PrivateKey(memory, nil, refuse, nil) else {
      ERR_clear_error()
      throw .noKey
    }
    self.init(adopting: key)
  }

  /// PKCS #8 in PEM, without a passphrase: for files that only root and the service read.
  func pem() throws(CertificateError) -> [UInt8] {
    try PEM.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
  }
}

/// libcrypto's memory files.
enum PEM {
  static func reader(_ bytes: [UInt8]) -> OpaquePointer? {
    guard let memory = BIO_new(BIO_s_mem()) else { return nil }
    guard bytes.isEmpty || BIO_write(memory, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
      BIO_free(memory)
      return nil
    }
    return memory
  }

  static func text(_ write: (OpaquePointer) -> Int32) throws(CertificateError) -> [UInt8] {
    guard let memory = BIO_new(BIO_s_mem()) else { throw .notMade }
    defer { BIO_free(memory) }
    guard write(memory) == 1 else { throw .notMade }
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(memory))
    guard BIO_read(memory, &bytes, Int32(bytes.count)) == Int32(bytes.count) else { throw .notMade }
    return bytes
  }
}
