import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The keys of phones, as computers are told them, with what the phone made of its link's secret.
@Suite struct PinTests {
  private func target(_ fixture: Fixture, user: String = "alice", prefix: String = "/management") -> String {
    "\(prefix)/user_phones/\(fixture.application.id)/\(user)"
  }

  private func phones(_ fixture: Fixture) async throws -> [UserPhonesReply.Phone] {
    let reply = await fixture.respond(try fixture.signed("GET", target(fixture)))
    #expect(reply.status == 200)
    return try UserPhonesReply(parsing: reply.body).phones
  }

  /// Registers alice's phone with these pins.
  private func register(_ fixture: Fixture, pin: String?, key: DeviceKey) async throws -> ServiceReply {
    try await fixture.addUserIfNew("alice")
    let request = RegisterRequest(
      code: try await fixture.linkCode(for: "alice"), publicKey: try key.publicKey.text, pinMAC: pin)
    return await fixture.respond(TestPhone.request(DeviceRoute.register, request.encoded()))
  }

  @Test func theApplicationIsToldKeyAndPin() async throws {
    let fixture = try await Fixture()
    let key = try DeviceKey.generate()
    let reply = try RegisterReply(parsing: try await register(fixture, pin: "a pin", key: key).body)
    let expected = UserPhonesReply.Phone(
      id: reply.device, name: "Alice", keys: PhoneKeys(publicKey: try key.publicKey.text, credential: nil),
      pinMAC: "a pin", since: fixture.clock.now.seconds)
    #expect(try await phones(fixture) == [expected])
    let short = await fixture.respond(try fixture.signed("GET", target(fixture, prefix: "")))
    #expect(try UserPhonesReply(parsing: short.body).phones == [expected])
  }

  @Test func aPhoneWithoutAPinHasNone() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    #expect(try await phones(fixture).map(\.pinMAC) == [nil])
  }

  @Test func aUserWithoutAPhoneHasNoKeys() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    #expect(try await phones(fixture).isEmpty)
  }

  @Test func aPhoneThatWasCutOffIsNotTold() async throws {
    let fixture = try await Fixture()
    _ = try await register(fixture, pin: "a pin", key: try DeviceKey.generate())
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await phones(fixture).isEmpty)
  }

  @Test func anUnknownUserIsRefused() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(try fixture.signed("GET", target(fixture, user: "nobody")))
    #expect(reply.status == 404)
    #expect(reply.reason == "UNKNOWN_USER")
  }

  /// A computer's own credential reaches sign-ins alone.
  @Test func aHostIsNotToldKeys() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let host = try await fixture.service.storage.createHostCredential(
      named: "web-1", host: "web-1", of: fixture.application.id, at: fixture.clock.now)
    let reply = await fixture.respond(
      try fixture.signed("GET", "/management/user_phones/\(host.id)/alice", by: host))
    #expect(reply.status == 403)
    #expect(reply.reason == "HOST_MAY_NOT_MANAGE")
  }

  /// What a host is told says whether keys that it knows are still the user's, and nothing else of them.
  @Test func aHostIsToldDigestsOfKeys() async throws {
    let fixture = try await Fixture()
    let key = try DeviceKey.generate()
    let phone = try RegisterReply(parsing: try await register(fixture, pin: "a pin", key: key).body).device
    let host = try await fixture.service.storage.createHostCredential(
      named: "web-1", host: "web-1", of: fixture.application.id, at: fixture.clock.now)
    func reply(_ user: String = "alice") async throws -> ServiceReply {
      await fixture.respond(
        try fixture.signed("GET", "/authentication/user_phone_digests/\(host.id)/\(user)", by: host))
    }
    let keys = PhoneKeys(publicKey: try key.publicKey.text, credential: nil)
    let told = try await reply()
    #expect(try PhoneDigestsReply(parsing: told.body).phones == [.init(id: phone, keysDigest: keys.digest)])
    let text = String(decoding: told.body, as: UTF8.self)
    for secret in [keys.publicKey, "Alice", "a pin"] { #expect(!text.contains(secret)) }
    #expect(try await reply("nobody").reason == "UNKNOWN_USER")
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try PhoneDigestsReply(parsing: try await reply().body).phones.isEmpty)
  }

  @Test func aScreenLockThatIsAddedChangesTheDigest() async throws {
    let fixture = try await Fixture()
    let key = try DeviceKey.generate()
    let device = try RegisterReply(parsing: try await register(fixture, pin: nil, key: key).body).device
    let lock = try TestAuthenticator()
    #expect(try await addLock(TestPhone(fixture: fixture, key: key, device: device), lock, pin: nil).status == 200)
    let told = try #require(try await phones(fixture).first)
    let digests = await fixture.respond(
      try fixture.signed("GET", "/authentication/user_phone_digests/\(fixture.application.id)/alice"))
    #expect(told.keys.credential != nil)
    #expect(
      try PhoneDigestsReply(parsing: digests.body).phones == [.init(id: device, keysDigest: told.keys.digest)])
  }

  @Test func nobodyElseIsToldDigests() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let target = "/authentication/user_phone_digests/\(fixture.application.id)/alice"
    let unsigned = await fixture.respond(
      ServiceRequest(method: "GET", target: target, authority: Fixture.authority))
    #expect(unsigned.status == 401)
    let other = try await fixture.service.storage.createHostCredential(
      named: "web-1", host: "web-1", of: fixture.application.id, at: fixture.clock.now)
    _ = try await fixture.service.storage.revokeHostCredential(
      named: "web-1", of: fixture.application.id, at: fixture.clock.now)
    let revoked = await fixture.respond(
      try fixture.signed("GET", "/authentication/user_phone_digests/\(other.id)/alice", by: other))
    #expect(revoked.status == 401)
  }

  @Test func nobodyElseIsToldKeys() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let reply = await fixture.respond(
      ServiceRequest(method: "GET", target: target(fixture), authority: Fixture.authority))
    #expect(reply.status == 401)
  }

  @Test(arguments: ["", String(repeating: "x", count: 65)])
  func aPinOfAnotherLengthIsRefused(_ pin: String) async throws {
    let fixture = try await Fixture()
    let reply = try await register(fixture, pin: pin, key: try DeviceKey.generate())
    #expect(reply.status == 400)
    #expect(try await phones(fixture).isEmpty)
  }

  // MARK: - A credential that is added later

  private func addLock(_ phone: TestPhone, _ lock: TestAuthenticator, pin: String?) async throws -> ServiceReply {
    let ask = try phone.ask(.credential)
    let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: try phone.key.publicKey.text)
    let statement = CredentialStatement(ask: ask, credential: try lock.credential(challenge: challenge), pinMAC: pin)
    return try await phone.send(DeviceRoute.credential, statement.json)
  }

  @Test(arguments: ["a later pin", nil])
  func aLaterCredentialHasItsOwnPinOrNone(_ pin: String?) async throws {
    let fixture = try await Fixture()
    let key = try DeviceKey.generate()
    let reply = try RegisterReply(parsing: try await register(fixture, pin: "a pin", key: key).body)
    let lock = try TestAuthenticator()
    let phone = TestPhone(fixture: fixture, key: key, device: reply.device)
    #expect(try await addLock(phone, lock, pin: pin).status == 200)
    let told = try #require(try await phones(fixture).first)
    #expect(told.pinMAC == pin)
    #expect(
      told.keys.credential
        == PhoneKeys.Credential(id: Base64URL.encode(lock.id), publicKey: try lock.key.publicKey.text))
  }
}
