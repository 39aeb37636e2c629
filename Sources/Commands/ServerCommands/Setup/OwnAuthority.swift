import CLibcrypto
import Glibc

/// The service's own authority, which may sign for one name only. A thief of its key can impersonate this service, but
/// no other server.
struct OwnAuthority: Sendable {
  /// The authority's lifetime in seconds: ten years. Computers and phones must be given a new one by hand.
  static let lifetime: Int64 = 3_650 * 86_400
  /// The certificate's lifetime in seconds: 397 days. Browsers refuse more than 398 days.
  static let leafLifetime: Int64 = 397 * 86_400
  /// How much before now a certificate begins, in seconds: clocks of phones may be behind.
  static let allowance: Int64 = 3_600

  let certificate: TLSCertificate
  let key: TLSKey

  /// - Parameter now: the time in Unix seconds.
  static func made(
    for name: PublicName, by key: TLSKey, at now: Int64
  ) throws(CertificateError) -> OwnAuthority {
    // RFC 5280 §4.2.1.10: a constraint on one kind of name does not restrict the other kinds.
    let constraint =
      name.isAddress
      // A top-level domain without names (RFC 6761 §6.4).
      ? "permitted;\(name.constraint),permitted;DNS:invalid"
      : "permitted;\(name.constraint),excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:\(PublicName.allIPv6)"
    let draft = try CertificateDraft(
      subject: "Sign-in authority of \(name.text)", key: key, from: now - allowance, to: now + lifetime)
    try draft.add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
    try draft.add(NID_key_usage, "critical,keyCertSign,cRLSign")
    try draft.add(NID_subject_key_identifier, "hash")
    try draft.add(NID_name_constraints, "critical,\(constraint)")
    let certificate = try draft.signed(by: key)
    return OwnAuthority(certificate: certificate, key: key)
  }

  /// Makes a certificate for the service's key, which ends with the authority at the latest. It is verified as clients
  /// do. Throws if clients would refuse it.
  func leaf(for name: PublicName, key: TLSKey, at now: Int64) throws(CertificateError) -> TLSCertificate {
    // libcrypto would check an address in the common name against the constraint on DNS names.
    let draft = try CertificateDraft(
      subject: name.isAddress ? "Sign-in service at \(name.text)" : name.text, key: key, issuer: certificate,
      from: now - Self.allowance,
      to: min(now - Self.allowance + Self.leafLifetime, certificate.ends))
    try draft.add(NID_basic_constraints, "critical,CA:FALSE")
    try draft.add(NID_key_usage, "critical,digitalSignature")
    try draft.add(NID_ext_key_usage, "serverAuth")
    try draft.add(NID_subject_key_identifier, "hash")
    try draft.add(NID_authority_key_identifier, "keyid:always")
    try draft.add(NID_subject_alt_name, name.alternativeName)
    let leaf = try draft.signed(by: self.key)
    if let refusal = leaf.refusal(by: certificate, for: name, at: now) { throw .notAccepted(refusal) }
    return leaf
  }
}

extension PublicName {
  fileprivate static let allIPv6 = "0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0"

  /// The name in libcrypto's form for extensions (x509v3_config(5)).
  fileprivate var alternativeName: String { (isAddress ? "IP:" : "DNS:") + text }

  fileprivate var constraint: String {
    guard isAddress else { return alternativeName }
    let mask = text.contains(":") ? "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" : "255.255.255.255"
    return "\(alternativeName)/\(mask)"
  }
}

/// A certificate that is not signed yet.
private final class CertificateDraft {
  /// The length of a serial number in bytes. RFC 5280 §4.1.2.2 allows 20.
  private static let serialLength = 16

  private let draft: OpaquePointer
  private let issuer: OpaquePointer

  /// - Parameter issuer: nil: it is self-signed.
  init(
    subject: String, key: TLSKey, issuer: TLSCertificate? = nil, from begin: Int64, to end: Int64
  ) throws(CertificateError) {
    guard iampass_crypto_start() == 1, let draft = X509_new() else { throw .notMade }
    self.draft = draft
    self.issuer = issuer?.certificate ?? draft
    guard X509_set_version(draft, 2) == 1, X509_set_pubkey(draft, key.key) == 1,
      ASN1_TIME_set(X509_getm_notBefore(draft), time_t(begin)) != nil,
      ASN1_TIME_set(X509_getm_notAfter(draft), time_t(end)) != nil,
      Self.setSerial(of: draft), Self.set(subject, asNameOf: draft),
      X509_set_issuer_name(draft, X509_get_subject_name(self.issuer)) == 1
    else { throw .notMade }
  }

  deinit { X509_free(draft) }

  /// - Parameter value: the value in the form of x509v3_config(5).
  func add(_ kind: Int32, _ value: String) throws(CertificateError) {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer, draft, nil, nil, 0)
    guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else { throw .notMade }
    defer { X509_EXTENSION_free(made) }
    guard X509_add_ext(draft, made, -1) == 1 else { throw .notMade }
  }

  func signed(by key: TLSKey) throws(CertificateError) -> TLSCertificate {
    guard X509_sign(draft, key.key, EVP_sha256()) > 0, X509_up_ref(draft) == 1 else { throw .notMade }
    return TLSCertificate(adopting: draft)
  }

  private static func setSerial(of draft: OpaquePointer) -> Bool {
    var bytes = [UInt8](repeating: 0, count: serialLength)
    guard RAND_bytes(&bytes, Int32(bytes.count)) == 1 else { return false }
    // The number must be positive and must not begin with a zero byte.
    bytes[0] = bytes[0] & 0x7F | 0x40
    guard let number = BN_bin2bn(bytes, Int32(bytes.count), nil) else { return false }
    defer { BN_free(number) }
    return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(draft)) != nil
  }

  private static func set(_ subject: String, asNameOf draft: OpaquePointer) -> Bool {
    // A common name has at most 64 characters (RFC 5280, appendix A.1). Clients use the alternative names.
    let common = Array(subject.utf8.prefix(64))
    return X509_NAME_add_entry_by_NID(
      X509_get_subject_name(draft), NID_commonName, MBSTRING_UTF8, common, Int32(common.count), -1, 0) == 1
  }
}
