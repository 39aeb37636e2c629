import CommandSupport
import IAMPASSProtocol
import Testing

@testable import IAMPASSControl

@Suite struct PinningTests {
  private static let code = "0123456789abcdef0123456789abcdef"
  private static let address = "https://iampass.test:8443/register/\(code)"
  private let secret = Secret(bytes: Array(0..<16))
  private let keys = PhoneKeys(publicKey: "KEY", credential: nil)

  private func phone(_ keys: PhoneKeys, mac: String?) -> UserPhonesReply.Phone {
    UserPhonesReply.Phone(id: "1", name: "Alice", keys: keys, pinMAC: mac, since: 0)
  }

  private func mac(_ keys: PhoneKeys, origin: String = "https://iampass.test:8443", code: String = code) -> String {
    keys.pinMAC(secret: secret, origin: origin, link: Secret(code))
  }

  @Test func theSecretStandsInTheFragment() throws {
    let link = try #require(PinningLink(Self.address, secret: secret))
    #expect(link.text == Self.address + "#pin=AAECAwQFBgcICQoLDA0ODw")
  }

  @Test func aSecretIsDrawnForEachLink() throws {
    let drawn = try (0..<4).map { _ in try #require(PinningLink.drawSecret()) }
    #expect(Set(drawn).count == 4)
    #expect(drawn.allSatisfy { $0.exposedBytes.count == PhoneKeys.pinSecretSize })
  }

  @Test(arguments: [
    "https://iampass.test/register/", "https://iampass.test/phone?code=0123", "https://iampass.test/register/0123?a=b",
    "https://iampass.test/register/0123#pin=x", "http://iampass.test/register/0123", "register/0123", "",
    "https://iampass.test/register/abc/def", "javascript:/register/0123",
  ])
  func anotherFormOfLinkGetsNoSecret(_ link: String) { #expect(PinningLink(link, secret: secret) == nil) }

  @Test func aLinkBelowAPathIsTaken() throws {
    let link = try #require(PinningLink("https://iampass.test/register/a/register/0123", secret: secret))
    #expect(ProvenPhone(phone(keys, mac: mac(keys, origin: "https://iampass.test", code: "0123")), by: link) != nil)
  }

  @Test func thePhoneThatOpenedTheLinkIsProven() throws {
    let link = try #require(PinningLink(Self.address, secret: secret))
    let locked = PhoneKeys(publicKey: "KEY", credential: .init(id: "ID", publicKey: "OTHER"))
    for keys in [keys, locked] {
      #expect(ProvenPhone(phone(keys, mac: mac(keys)), by: link)?.phone.keys == keys)
    }
    #expect(ProvenPhone(phone(locked, mac: mac(keys)), by: link) == nil)
    #expect(ProvenPhone(phone(keys, mac: mac(locked)), by: link) == nil)
  }

  @Test func noOtherMACProvesAPhone() throws {
    let link = try #require(PinningLink(Self.address, secret: secret))
    let another = try #require(PinningLink(Self.address, secret: Secret(bytes: Array(1..<17))))
    #expect(ProvenPhone(phone(keys, mac: nil), by: link) == nil)
    #expect(ProvenPhone(phone(keys, mac: mac(keys)), by: another) == nil)
    for wrong in [
      "", String(mac(keys).dropLast()), mac(keys) + "=", mac(keys, origin: "https://iampass.test"),
      mac(keys, code: String(Self.code.dropLast())),
    ] {
      #expect(ProvenPhone(phone(keys, mac: wrong), by: link) == nil)
    }
  }

  @Test(arguments: ["saha tira gava hoka juga dado", " SAHA tira\tgava  hoka juga dado\n"])
  func itsSixWordsProveAPhone(_ words: String) { #expect(ProvenPhone(phone(keys, mac: nil), words: words) != nil) }

  @Test(arguments: [
    "", "saha tira gava hoka juga", "saha tira gava hoka juga dado saha", "tira saha gava hoka juga dado",
    "sahatiragavahokajugadado", "saha-tira-gava-hoka-juga-dado", "saha tira gava hoka juga dad",
  ])
  func wrongWordsProveNoPhone(_ words: String) { #expect(ProvenPhone(phone(keys, mac: nil), words: words) == nil) }

  private func offer(_ link: String, isPinned: Bool = true, isVerified: Bool = false) throws -> RegistrationOffer {
    try RegistrationOffer(
      link, server: try ServerURL("https://iampass.test:8443"), isPinned: isPinned, isVerified: isVerified)
  }

  @Test func aLinkWithoutAPlaceForASecretIsShownAsItIs() throws {
    let offer = try offer("https://iampass.test:8443/elsewhere")
    #expect(offer.text == "https://iampass.test:8443/elsewhere")
    guard case .words = offer.proof else { return #expect(Bool(false), "\(offer.proof)") }
  }

  @Test func withoutAServiceThatTellsKeysThereIsNoSecret() throws {
    let offer = try offer(Self.address, isPinned: false, isVerified: true)
    #expect(offer.text == Self.address)
    guard case .untold = offer.proof else { return #expect(Bool(false), "\(offer.proof)") }
  }

  /// A phone signs for the address at which it was registered.
  @Test(arguments: [
    "https://iampass.test/register/\(code)", "https://evil.test:8443/register/\(code)", "//evil.test/register/\(code)",
    "https://iampass.test:8443@evil.test/register/\(code)", "http://iampass.test:8443/register/\(code)", "",
  ])
  func aLinkOfAnotherAddressIsNotOffered(_ link: String) throws {
    for (isPinned, isVerified) in [(true, false), (false, true)] {
      let failure = #expect(throws: CommandProblem.self) {
        try offer(link, isPinned: isPinned, isVerified: isVerified)
      }
      #expect(failure?.message.contains("and server is https://iampass.test:8443") == true)
      #expect(failure?.message.contains(Self.code) == false)
    }
    // Other makers' services lead elsewhere, and their phones are not pinned.
    #expect(try offer(link, isPinned: false).text == link)
  }
}
