import CLibcrypto
import Glibc

/// A certificate for TLS.
///
/// SAFETY of `@unchecked Sendable`: only `init` writes libcrypto's certificate.
final class TLSCertificate: @unchecked Sendable {
  let certificate: OpaquePointer

  init(adopting certificate: OpaquePointer) { self.certificate = certificate }

  deinit { X509_free(certificate) }

  /// Reads the first certificate of a PEM text. In a chain it is the service's own.
  convenience init(pem: [UInt8]) throws(CertificateError) {
    guard iampass_crypto_start() == 1, let memory = PEM.reader(pem) else { throw .notMade }
    defer { BIO_free(memory) }
    guard let certificate = PEM_read_bio_X509(memory, nil, nil, nil) else {
      ERR_clear_error()
      throw .noCertificate
    }
    self.init(adopting: certificate)
  }

  func pem() throws(CertificateError) -> [UInt8] { try PEM.text { PEM_write_bio_X509($0, certificate) } }

  /// The first and the last moment, in Unix seconds.
  var begins: Int64 { Self.seconds(X509_get0_notBefore(certificate)) }
  var ends: Int64 { Self.seconds(X509_get0_notAfter(certificate)) }

  /// Whether one of its names matches this name.
  func covers(_ name: PublicName) -> Bool {
    if name.isAddress { return X509_check_ip_asc(certificate, name.text, 0) == 1 }
    return X509_check_host(
      certificate, name.text, strlen(name.text), UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT), nil) == 1
  }

  /// Whether the key belongs to this certificate.
  func fits(_ key: TLSKey) -> Bool {
    defer { ERR_clear_error() }
    return X509_check_private_key(certificate, key.key) == 1
  }

  /// Why a client that trusts only `authority` would refuse this certificate for `name`; nil if the client would accept
  /// it.
  ///
  /// - Parameter now: the time in Unix seconds.
  func refusal(by authority: TLSCertificate, for name: PublicName, at now: Int64) -> String? {
    defer { ERR_clear_error() }
    guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new() else { return "no memory" }
    defer {
      X509_STORE_CTX_free(context)
      X509_STORE_free(store)
    }
    guard X509_STORE_add_cert(store, authority.certificate) == 1,
      X509_STORE_CTX_init(context, store, certificate, nil) == 1,
      let rules = X509_STORE_CTX_get0_param(context),
      X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER) == 1,
      name.isAddress
        ? X509_VERIFY_PARAM_set1_ip_asc(rules, name.text) == 1 : X509_VERIFY_PARAM_set1_host(rules, name.text, 0) == 1
    else { return "no memory" }
    X509_VERIFY_PARAM_set_time(rules, time_t(now))
    guard X509_verify_cert(context) != 1 else { return nil }
    let reason = X509_STORE_CTX_get_error(context)
    return X509_verify_cert_error_string(Int(reason)).map { String(cString: $0) } ?? "refused"
  }

  /// The time in Unix seconds. If libcrypto cannot read it, the greatest number: such a certificate is not valid yet.
  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
    var parts = tm()
    guard ASN1_TIME_to_tm(time, &parts) == 1 else { return .max }
    return Int64(timegm(&parts))
  }
}
