import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// How a phone gets the method `device`: it registers its authenticator's credential, at registration or later.
@Suite struct CredentialTests {
  private let key: DeviceKey
  private let authenticator: TestAuthenticator

  init() throws {
    key = try DeviceKey.generate()
    authenticator = try TestAuthenticator()
  }

  private func register(
    _ fixture: Fixture, _ code: Secret, _ wrong: TestAuthenticator.Wrong = TestAuthenticator.Wrong(),
    change: (UnverifiedCredential) throws -> UnverifiedCredential = { $0 }
  ) async throws -> ServiceReply {
    let publicKey = try key.publicKey.text
    let challenge = CredentialChallenge.bytes(for: code, publicKey: publicKey)
    let credential = try change(try authenticator.credential(challenge: challenge, wrong))
    let request = RegisterRequest(code: code, publicKey: publicKey, credential: credential)
    return await fixture.respond(TestPhone.request(DeviceRoute.register, request.encoded()))
  }

  private func fixtureWithCode() async throws -> (Fixture, Secret) {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    return (fixture, try await fixture.linkCode(for: "alice"))
  }

  @Test func aPhoneRegistersWithACredential() async throws {
    let (fixture, code) = try await fixtureWithCode()
    let reply = try await register(fixture, code)
    #expect(reply.status == 200)
    #expect(try RegisterReply(parsing: reply.body).methods == [.acceptance, .device])
  }

  @Test func aRegistrationIsRepeatedWithItsCredentialAlone() async throws {
    let (fixture, code) = try await fixtureWithCode()
    let first = try await register(fixture, code)
    let second = try await register(fixture, code)
    #expect(second.status == 200)
    #expect(try RegisterReply(parsing: second.body) == RegisterReply(parsing: first.body))
    #expect(try await TestPhone.register(in: fixture, code: code, key: key).reason == "LINK_USED")
    let other = try TestAuthenticator(id: [7])
    let sent = try await register(fixture, code) { _ in
      try other.credential(challenge: CredentialChallenge.bytes(for: code, publicKey: try key.publicKey.text))
    }
    #expect(sent.reason == "LINK_USED")
  }

  @Test func aPhoneWithoutACredentialHasATapOnly() async throws {
    let (fixture, code) = try await fixtureWithCode()
    let reply = try await TestPhone.register(in: fixture, code: code)
    #expect(try RegisterReply(parsing: reply.body).methods == [.acceptance])
  }

  @Test(arguments: [
    TestAuthenticator.Wrong(type: "webauthn.get"), .init(challenge: [0]), .init(origin: "https://elsewhere.test"),
    .init(origin: "http://iampass.test"), .init(origin: "https://iampass.test:444"), .init(crossOrigin: true),
    .init(relyingParty: "elsewhere.test"), .init(flags: 0x01), .init(flags: 0x04), .init(flags: 0x00),
    // RS256 would be 0x39 0x0100; this is EdDSA.
    .init(algorithm: 0x27), .init(announcedLength: 0), .init(announcedLength: 3), .init(announcedLength: 5),
    .init(announcedLength: 1_023), .init(announcedLength: 65_535), .init(more: [0]),
  ])
  func refusesACredentialThatIsNotItsOwn(_ wrong: TestAuthenticator.Wrong) async throws {
    let (fixture, code) = try await fixtureWithCode()
    let reply = try await register(fixture, code, wrong)
    #expect(reply.status == 400)
    #expect(reply.reason == "BAD_CREDENTIAL")
    // The link can still be used.
    #expect(try await register(fixture, code).status == 200)
  }

  @Test func refusesTheKeyOfAnother() async throws {
    let (fixture, code) = try await fixtureWithCode()
    let other = try DeviceKey.generate().publicKey.text
    let reply = try await register(fixture, code) {
      UnverifiedCredential(
        id: $0.id, publicKey: other, authenticatorData: $0.authenticatorData, clientData: $0.clientData)
    }
    #expect(reply.reason == "BAD_CREDENTIAL")
  }

  @Test func refusesTheIdOfAnother() async throws {
    let (fixture, code) = try await fixtureWithCode()
    let reply = try await register(fixture, code) {
      UnverifiedCredential(
        id: $0.id + [0], publicKey: $0.publicKey, authenticatorData: $0.authenticatorData, clientData: $0.clientData)
    }
    #expect(reply.reason == "BAD_CREDENTIAL")
  }

  @Test func refusesACredentialMadeForAnotherLink() async throws {
    let (fixture, code) = try await fixtureWithCode()
    let challenge = CredentialChallenge.bytes(for: Secret("other"), publicKey: try key.publicKey.text)
    let reply = try await register(fixture, code, .init(challenge: challenge))
    #expect(reply.reason == "BAD_CREDENTIAL")
  }

  @Test(arguments: ["", "{}", "[]", "{\"type\":\"webauthn.create\",\"type\":\"webauthn.create\"}", "\u{0}"])
  func refusesWhatIsNotClientData(_ text: String) async throws {
    let (fixture, code) = try await fixtureWithCode()
    let reply = try await register(fixture, code) {
      UnverifiedCredential(
        id: $0.id, publicKey: $0.publicKey, authenticatorData: $0.authenticatorData, clientData: Array(text.utf8))
    }
    #expect(reply.status == 400)
  }

  @Test func noPrefixOfAuthenticatorDataIsAuthenticatorData() throws {
    let whole = try authenticator.credential(challenge: [1]).authenticatorData
    #expect(UnverifiedAuthenticatorData(whole) != nil)
    for length in 0..<whole.count { #expect(UnverifiedAuthenticatorData(Array(whole.prefix(length))) == nil) }
  }

  @Test func authenticatorDataIsReadAsWritten() throws {
    var wrong = TestAuthenticator.Wrong()
    wrong.counter = 0x0102_0304
    let data = try #require(
      UnverifiedAuthenticatorData(try authenticator.credential(challenge: [1], wrong).authenticatorData))
    #expect(data.counter == 0x0102_0304)
    #expect(data.flags == [.userPresent, .userVerified, .hasCredential])
    #expect(data.credential?.id == authenticator.id)
    #expect(data.credential?.coordinates == (try authenticator.key.publicKey.coordinates))
  }

  @Test func extensionsAreAMapBehindTheRest() throws {
    var wrong = TestAuthenticator.Wrong(flags: 0x85)
    wrong.more = [0xA1, 0x61, 0x61, 0xF5]
    #expect(UnverifiedAuthenticatorData(try authenticator.credential(challenge: [1], wrong).authenticatorData) != nil)
    wrong.more = []
    #expect(UnverifiedAuthenticatorData(try authenticator.credential(challenge: [1], wrong).authenticatorData) == nil)
    wrong.more = [0x41, 0x00]
    #expect(UnverifiedAuthenticatorData(try authenticator.credential(challenge: [1], wrong).authenticatorData) == nil)
  }

  @Test func longAuthenticatorDataIsRefused() {
    #expect(UnverifiedAuthenticatorData([UInt8](repeating: 0xFF, count: 2_049)) == nil)
  }

  // Later, on a phone without a credential or with another one.

  /// - Parameter former: the credential whose assertion agrees to the replacement.
  private func addLater(
    _ phone: TestPhone, _ authenticator: TestAuthenticator, nonceOfChallenge: String? = nil,
    former: TestAuthenticator? = nil
  ) async throws -> ServiceReply {
    let ask = try phone.ask(.credential)
    let challenge = CredentialChallenge.bytes(
      for: Secret(nonceOfChallenge ?? ask.nonce), publicKey: try phone.key.publicKey.text)
    let credential = try authenticator.credential(challenge: challenge)
    let statement = CredentialStatement(ask: ask, credential: credential).json
    let assertion = try former?.assertion(challenge: CredentialChallenge.bytes(for: statement))
    let body = try UnverifiedStatement.body(signing: statement, with: phone.key, assertion: assertion)
    return await phone.fixture.respond(TestPhone.request(DeviceRoute.credential, body))
  }

  @Test func aPhoneAddsACredentialLater() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    #expect(try DeviceStatusReply(parsing: try await phone.status().body).methods == [.acceptance])
    let reply = try await addLater(phone, authenticator)
    #expect(try DeviceStatusReply(parsing: reply.body).methods == [.acceptance, .device])
    #expect(try DeviceStatusReply(parsing: try await phone.status().body).methods == [.acceptance, .device])
  }

  @Test func aCredentialIsNotReplacedWithoutItsWord() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await addLater(phone, authenticator)
    let second = try TestAuthenticator(id: [9])
    #expect(try await addLater(phone, second).reason == "ASSERTION_MISSING")
    #expect(try await addLater(phone, second, former: second).reason == "ASSERTION_REFUSED")
    _ = try await fixture.started("alice")
    #expect(try await phone.list().map(\.credential) == [Base64URL.encode(authenticator.id)])
  }

  @Test func anotherCredentialTakesTheFirstOnesPlace() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await addLater(phone, authenticator)
    let second = try TestAuthenticator(id: [9])
    #expect(try await addLater(phone, second, former: authenticator).status == 200)
    _ = try await fixture.started("alice")
    #expect(try await phone.list().map(\.credential) == [Base64URL.encode([9])])
  }

  @Test func refusesALaterCredentialOverAnotherNonce() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let reply = try await addLater(phone, authenticator, nonceOfChallenge: "0")
    #expect(reply.reason == "BAD_CREDENTIAL")
    #expect(try DeviceStatusReply(parsing: try await phone.status().body).methods == [.acceptance])
  }

  @Test func aCutOffPhoneAddsNone() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await phone.unregister()
    #expect(try await addLater(phone, authenticator).reason == "DEVICE_CUT_OFF")
  }

  @Test func aNewPhoneDoesNotInheritTheCredential() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await addLater(phone, authenticator)
    let next = try await TestPhone.registered(in: fixture, lost: true)
    #expect(try DeviceStatusReply(parsing: try await next.status().body).methods == [.acceptance])
  }
}
