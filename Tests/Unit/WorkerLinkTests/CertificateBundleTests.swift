import Testing
import WorkerLink

/// A file without certificates pins nothing, so that it is refused.
@Suite struct CertificateBundleTests {
  /// DER's form without a key: 0x30, a length of 5, and five bytes.
  private static let certificate = "-----BEGIN CERTIFICATE-----\nMAUBAgMEBQ==\n-----END CERTIFICATE-----\n"

  private func pins(_ text: String) -> Bool { CertificateBundle(pem: Array(text.utf8)) != nil }

  @Test func aCertificatePins() {
    #expect(pins(Self.certificate))
    #expect(pins("subject: /CN=x\n\n" + Self.certificate.replacing("\n", with: "\r\n") + "more"))
    #expect(pins(Self.certificate.replacing("CERTIFICATE", with: "X509 CERTIFICATE")))
    #expect(pins("-----BEGIN PRIVATE KEY-----\nMAUBAgMEBQ==\n-----END PRIVATE KEY-----\n" + Self.certificate))
    #expect(pins("-----BEGIN CERTIFICATE-----\nMAUBAg\nMEBQ==  \n-----END CERTIFICATE-----"))
    #expect(pins("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + Self.certificate))
  }

  @Test(arguments: [
    "", "\n", " \n\n", "# the authority goes here\n", "not a certificate",
    certificate.replacing("CERTIFICATE", with: "PUBLIC KEY"), certificate.replacing("CERTIFICATE", with: "X509 CRL"),
    // Cut short: the text, and the bytes that it encodes.
    String(certificate.dropLast(10)), certificate.replacing("MAUBAgMEBQ==", with: "MAUBAgME"),
    certificate.replacing("MAUBAgMEBQ==", with: ""), certificate.replacing("MAUBAgMEBQ==", with: "MAUBAgMEBQ="),
    certificate.replacing("MAUBAgMEBQ==", with: "MQUBAgMEBQ=="),
    certificate.replacing("MAUBAgMEBQ==", with: "MACBAgMEBQ=="),
    certificate.replacing("-----END", with: " -----END"), " " + certificate,
    certificate.replacing("END CERTIFICATE", with: "END X509 CERTIFICATE"),
    "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
  ])
  func whatHasNoWholeCertificatePinsNothing(_ text: String) {
    #expect(!pins(text))
  }
}
