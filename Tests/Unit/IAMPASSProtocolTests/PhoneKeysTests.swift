import IAMPASSProtocol
import Testing

@Suite struct PhoneKeysTests {
  private let tapped = PhoneKeys(publicKey: "KEY", credential: nil)
  private let locked = PhoneKeys(publicKey: "KEY", credential: .init(id: "ID", publicKey: "OTHER"))
  private let secret = Secret(bytes: Array(0..<16))

  /// The page makes the same words: Tests/System/Browser/test_pins.py compares them.
  @Test func theWordsAreThoseOfTheWire() {
    #expect(tapped.words == "saha tira gava hoka juga dado")
    #expect(locked.words == "tuso foho foga bamo mido toza")
  }

  @Test func thePinIsThatOfTheWire() {
    let link = Secret("0123")
    #expect(
      tapped.pinMAC(secret: secret, origin: "https://iampass.test", link: link)
        == "xLLsIruQyk6DaHCqO78KMm970XtMqMsgCupCPF7Q5OE=")
    #expect(
      locked.pinMAC(secret: secret, origin: "https://iampass.test", link: link)
        == "+PeCz5SwkRxEPOdiRpK41Yh9WgBaGL8OLbaTTvG9kMg=")
  }

  @Test func anotherSecretOriginOrLinkMakesAnotherPin() {
    func pin(_ secret: Secret, _ origin: String = "https://a", _ link: String = "0") -> String {
      locked.pinMAC(secret: secret, origin: origin, link: Secret(link))
    }
    #expect(pin(secret) != pin(Secret(bytes: Array(1..<17))))
    #expect(pin(secret) != pin(secret, "https://b"))
    #expect(pin(secret) != pin(secret, "https://a", "1"))
  }

  @Test func phonesReadBack() throws {
    let reply = UserPhonesReply(phones: [
      .init(id: "1", name: "Alice", keys: locked, pinMAC: "MAC", since: 1_800_000_000),
      .init(id: "2", name: "Alice", keys: tapped, pinMAC: nil, since: 0),
    ])
    #expect(try UserPhonesReply(parsing: reply.encoded()) == reply)
  }

  @Test(arguments: [
    #"{"status":true}"#, #"{"status":true,"phones":[{}]}"#, #"{"status":false,"phones":[]}"#,
    #"{"status":true,"phones":[{"id":"1","name":"a","public_key":"K","since":"0"}]}"#,
    #"{"status":true,"phones":[{"id":"1","name":"a","public_key":"K","since":0,"credential":{"id":"x"}}]}"#,
    #"{"status":true,"phones":[{"id":"1","name":"a","public_key":"K","since":0,"pin_mac":7}]}"#,
  ])
  func refusesPhonesThatAreNotSome(_ text: String) {
    #expect(throws: MessageError.self) { try UserPhonesReply(parsing: Array(text.utf8)) }
  }
}
