import Testing

@testable import ServerCommands

@Suite struct OwnAuthorityTests {
  private let now: Int64 = 1_800_000_000
  private let name = PublicName("iampass.example.org")!

  private func authority(for name: PublicName) throws -> OwnAuthority {
    try OwnAuthority.made(for: name, by: try TLSKey.generate(), at: now)
  }

  @Test(arguments: ["iampass.example.org", "localhost", "192.0.2.7", "2001:db8::7"])
  func itsCertificatesAreTakenForTheirName(_ text: String) throws {
    let name = try #require(PublicName(text))
    let authority = try authority(for: name)
    let key = try TLSKey.generate()
    let leaf = try authority.leaf(for: name, key: key, at: now)
    #expect(leaf.fits(key) && leaf.covers(name))
    #expect(leaf.refusal(by: authority.certificate, for: name, at: now) == nil)
    #expect(leaf.refusal(by: authority.certificate, for: try #require(PublicName("other.example")), at: now) != nil)
  }

  @Test func aCertificateLastsFewerThan398Days() throws {
    let leaf = try authority(for: name).leaf(for: name, key: try TLSKey.generate(), at: now)
    #expect(leaf.begins <= now && leaf.ends > now + 390 * 86_400)
    #expect(leaf.ends - leaf.begins < 398 * 86_400)
  }

  @Test func aCertificateEndsWithItsAuthority() throws {
    let authority = try authority(for: name)
    let late = authority.certificate.ends - 86_400
    #expect(try authority.leaf(for: name, key: try TLSKey.generate(), at: late).ends == authority.certificate.ends)
    #expect(throws: CertificateError.self) {
      try authority.leaf(for: name, key: try TLSKey.generate(), at: authority.certificate.ends + 1)
    }
  }

  @Test(arguments: ["other.example.org", "example.org", "192.0.2.7", "2001:db8::7"])
  func itSignsForNoOtherName(_ other: String) throws {
    let other = try #require(PublicName(other))
    #expect(throws: CertificateError.self) {
      try authority(for: name).leaf(for: other, key: try TLSKey.generate(), at: now)
    }
  }

  @Test func anAuthorityForAnAddressSignsForNoNames() throws {
    let authority = try authority(for: try #require(PublicName("192.0.2.7")))
    for text in ["iampass.example.org", "192.0.2.8", "2001:db8::7"] {
      let other = try #require(PublicName(text))
      #expect(throws: CertificateError.self, "\(text)") {
        try authority.leaf(for: other, key: try TLSKey.generate(), at: now)
      }
    }
  }

  @Test func anotherAuthorityIsNotTaken() throws {
    let leaf = try authority(for: name).leaf(for: name, key: try TLSKey.generate(), at: now)
    #expect(leaf.refusal(by: try authority(for: name).certificate, for: name, at: now) != nil)
  }

  @Test func whatWasWrittenIsReadAgain() throws {
    let authority = try authority(for: name)
    let key = try TLSKey(pem: try authority.key.pem())
    #expect(try TLSCertificate(pem: try authority.certificate.pem()).fits(key))
    #expect(throws: CertificateError.noKey) { try TLSKey(pem: try authority.certificate.pem()) }
    #expect(throws: CertificateError.noCertificate) { try TLSCertificate(pem: try authority.key.pem()) }
    #expect(throws: CertificateError.noCertificate) { try TLSCertificate(pem: []) }
  }
}

@Suite struct CredentialLinesFileTests {
  @Test func idAndSecretAreRead() {
    let read = CredentialLinesFile(text: "application_id = 12\napplication_secret = ab+/==\nserver = https://a\n")
    #expect(read == CredentialLinesFile(id: "12", secret: "ab+/=="))
  }

  @Test(arguments: ["", "application_id = 12\n", "application_id =\napplication_secret = a\n", "hello"])
  func anotherFileIsNotTakenForOne(_ text: String) { #expect(CredentialLinesFile(text: text) == nil) }
}
