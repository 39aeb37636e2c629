import CLibcrypto
import Glibc

/// Whether a browser can trust the service's certificate, as far as the certificate itself shows it.
public enum PageCertificate {
  /// Why browsers will not open a page of `host` with it; nil if no reason is known. An unreadable file gives nil: the
  /// service does not start with it.
  ///
  /// - Parameter path: a PEM file whose first certificate is the service's own.
  public static func problem(of path: String, for host: String) -> String? {
    guard iampass_crypto_start() == 1, let file = BIO_new_file(path, "r") else { return nil }
    defer { BIO_free(file) }
    guard let certificate = PEM_read_bio_X509(file, nil, nil, nil) else { return nil }
    defer { X509_free(certificate) }
    guard X509_check_host(certificate, host, strlen(host), UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT), nil) == 1 else {
      return "the certificate is not for \(host)"
    }
    let isOwn = X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0
    return isOwn ? "the certificate names itself as its issuer" : nil
  }
}
