import DeviceProtocol
import IAMPASSPhone
import IAMPASSProtocol
import Testing

@Suite struct PhoneRegistrationTests {
  private static let code = "0123456789abcdef0123456789abcdef"
  private static let address = "https://iampass.test/base/register/" + code

  private func registration(_ service: ScriptedService, _ text: String = address) throws -> PhoneRegistration {
    PhoneRegistration(link: try RegistrationLink(text), transport: service)
  }

  @Test func theAccountIsStored() throws {
    let service = ScriptedService([ScriptedService.registered])
    let storage = ScriptedStorage()
    let phone = try registration(service).register(in: storage)
    #expect(phone.account.device == "d")
    #expect(storage.accounts().map(\.device) == ["d"])
    #expect(service.asked.first?.url == "https://iampass.test/base/device/v1/register")
    #expect(service.isFinished)
  }

  @Test func aFullStorageLeavesTheLinkUnused() throws {
    let service = ScriptedService([])
    #expect(throws: ScriptedStorage.Full.self) {
      try registration(service).register(in: ScriptedStorage(isFull: true))
    }
    #expect(service.asked.isEmpty)
  }

  @Test func aRefusedLinkStoresNothing() throws {
    let storage = ScriptedStorage()
    #expect(throws: PhoneError.refused(status: 410, reason: "LINK_USED")) {
      try registration(ScriptedService([ScriptedService.refusal(410, "LINK_USED")])).register(in: storage)
    }
    #expect(storage.accounts().isEmpty)
  }

  @Test func aLostReplyIsAskedForOnceMoreWithTheSameKeys() throws {
    let service = ScriptedService([.failure(.connectionLost), ScriptedService.registered])
    let storage = ScriptedStorage()
    #expect(try registration(service).register(in: storage).account.device == "d")
    #expect(service.asked.count == 2)
    #expect(Set(service.asked.map(\.body)).count == 1)
    #expect(storage.accounts().count == 1)
  }

  @Test func aServiceThatStaysAwayIsAskedTwice() throws {
    let service = ScriptedService([.failure(.connectionLost), .reply(503, "")])
    #expect(throws: PhoneError.unavailable(status: 503)) {
      try registration(service).register(in: ScriptedStorage())
    }
    #expect(service.isFinished)
  }

  @Test func withoutItsScreenLockThePhoneIsNotRegistered() throws {
    let service = ScriptedService([])
    #expect(throws: PhoneError.methodNotSupported) {
      try registration(service).register(in: ScriptedStorage(), authenticator: ScriptedLock(agrees: false))
    }
    #expect(service.asked.isEmpty)
  }

  @Test func theSecretOfALinkIsNeverSent() throws {
    let secret = Base64URL.encode(Array(0..<16))
    let service = ScriptedService([ScriptedService.registered])
    _ = try registration(service, Self.address + "#pin=" + secret).register(in: ScriptedStorage())
    let sent = try #require(service.asked.first)
    #expect(try RegisterRequest(parsing: sent.body).pinMAC != nil)
    #expect(!(sent.url + String(decoding: sent.body, as: UTF8.self)).contains(secret))
  }

  @Test(arguments: ["", "https://iampass.test/register/0123", "http://iampass.test/register/" + code])
  func anotherTextIsNotALink(text: String) {
    #expect(throws: RegistrationLinkError.notALink(text)) { try RegistrationLink(text) }
  }

  @Test(arguments: ["", "https://iampass.test/registers/" + code, "https://iampass.test/register/0123"])
  func theSecretOfAMistypedLinkIsNotRepeated(text: String) {
    #expect(throws: RegistrationLinkError.notALink(text)) {
      try RegistrationLink(text + "#pin=" + Base64URL.encode(Array(0..<16)))
    }
  }

  @Test(arguments: ["", "pin=", "pin=AAAA", "other"])
  func aLinkThatWasCutIsRefused(fragment: String) {
    #expect(throws: RegistrationLinkError.linkWithoutItsSecret) { try RegistrationLink(Self.address + "#" + fragment) }
  }
}
