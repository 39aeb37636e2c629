import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Whoever failed too often under an id costs no further work under it. The right requests of that id are done all the same.
struct EarlyRefusalTests {
  private static let unknown = "0123456789abcdef0123456789abcdef"
  private static let failures = FailureLimits.allowance(.signature(client: "")).failures

  /// Sends so many that one more is refused early: the first beyond the limit is looked at.
  private func hammer(
    _ watched: WatchedService, times: Int = failures, status: Int, _ request: () throws -> ServiceRequest
  ) async throws {
    for _ in 0..<times { #expect(await watched.fixture.respond(try request()).status == status) }
    #expect(await watched.fixture.respond(try request()).status == 429)
  }

  private func refuseEarly(
    _ request: ServiceRequest, _ watched: WatchedService, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let (reply, looks) = await watched.reply(to: request)
    #expect(reply.status == 429 && reply.reason == "TOO_MANY_FAILURES", sourceLocation: sourceLocation)
    #expect(reply.header("Retry-After") != nil, sourceLocation: sourceLocation)
    #expect(looks == 0, sourceLocation: sourceLocation)
  }

  @Test func wrongSignaturesBeyondTheLimitReachNoStorageAndRightOnesDo() async throws {
    let watched = try await WatchedService()
    let fixture = watched.fixture
    let target = "/management/has_registered_mobile_device/\(fixture.application.id)/alice"
    func wrong() throws -> ServiceRequest { try fixture.signed("GET", target, origin: "https://elsewhere.test") }
    try await hammer(watched, status: 401, wrong)
    for _ in 0..<3 {
      await refuseEarly(try wrong(), watched)
      #expect(await fixture.respond(try fixture.signed("GET", target)).reason == "UNKNOWN_USER")
    }
    // What is remembered may be old: one a second is looked at.
    fixture.clock.advance(seconds: 1)
    let (reply, looks) = await watched.reply(to: try wrong())
    #expect(reply.status == 429 && looks > 0)
    await refuseEarly(try wrong(), watched)
  }

  @Test func aNewSecretServesWithinASecondOfWhoeverSendsWrongOnes() async throws {
    let watched = try await WatchedService()
    let fixture = watched.fixture
    let id = fixture.application.id
    let target = "/authentication/service_mark/\(id)"
    func wrong() throws -> ServiceRequest { try fixture.signed("GET", target, origin: "https://elsewhere.test") }
    try await hammer(watched, status: 401, wrong)
    let secret = Secret("0123456789abcdef01234567")
    _ = try await fixture.service.core.storage.renewSecret(of: id, to: secret, at: fixture.clock.now)
    fixture.clock.advance(seconds: 1)
    _ = await fixture.respond(try wrong())
    await refuseEarly(try wrong(), watched)
    #expect(await fixture.respond(try fixture.signed("GET", target, by: id, secret)).status == 200)
    // And the old one does not.
    await refuseEarly(try fixture.signed("GET", target), watched)
  }

  @Test func anUnknownIDBeyondTheLimitReachesNoStorageAndServesOnceItIsKnown() async throws {
    let watched = try await WatchedService()
    let fixture = watched.fixture
    let secret = Secret("0123456789abcdef01234567")
    let target = "/authentication/service_mark/\(Self.unknown)"
    func ask() throws -> ServiceRequest { try fixture.signed("GET", target, by: Self.unknown, secret) }
    try await hammer(watched, status: 404, ask)
    await refuseEarly(try ask(), watched)
    // Another id of that address is looked for.
    let other = String(Self.unknown.reversed())
    let another = try fixture.signed("GET", "/authentication/service_mark/\(other)", by: other, secret)
    #expect(await fixture.respond(another).status == 404)
    let made = Application(id: Self.unknown, name: "made", secret: secret)
    _ = try await SQLiteStorage(folder: fixture.folder, clocks: fixture.clock.clocks).take(made, at: fixture.clock.now)
    fixture.clock.advance(seconds: 1)
    #expect(await fixture.respond(try ask()).status == 200)
    #expect(await fixture.respond(try ask()).status == 200)
  }

  @Test func wrongSignaturesOfASessionBeyondTheLimitReachNoStorage() async throws {
    let watched = try await WatchedService()
    let fixture = watched.fixture
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    #expect(try await fixture.status(of: session).status == .pending)
    let target = String(session.statusURL.dropFirst(Fixture.origin.count))
    func wrong() throws -> ServiceRequest {
      try fixture.signed("GET", target, by: session.token.exposedValue, Secret("0123456789abcdef01234567"))
    }
    try await hammer(watched, status: 401, wrong)
    await refuseEarly(try wrong(), watched)
    #expect(try await fixture.status(of: session).status == .pending)
  }

  @Test func aThiefOfAPhonesIDReachesNoStorageBeyondTheLimit() async throws {
    let watched = try await WatchedService()
    let phone = try await TestPhone.registered(in: watched.fixture)
    let thief = TestPhone(fixture: watched.fixture, key: try DeviceKey.generate(), device: phone.device)
    func wrong() throws -> ServiceRequest { TestPhone.request(DeviceRoute.status, try thief.askBody(.status)) }
    let failures = FailureLimits.allowance(.answer(device: "")).failures
    try await hammer(watched, times: failures, status: 401, wrong)
    await refuseEarly(try wrong(), watched)
    #expect(try await phone.status().status == 200)
  }

  @Test func aWrongSecretOfAProgramReachesNoStorageBeyondTheLimit() async throws {
    let watched = try await WatchedService()
    let fixture = watched.fixture
    let (client, secret) = try await SQLiteStorage(folder: fixture.folder, clocks: fixture.clock.clocks)
      .createOpenIDClient(named: "bank", shown: "The bank", of: "shop", at: fixture.clock.now)
    func ask(_ secret: String) -> ServiceRequest {
      ServiceRequest(
        method: "POST", target: "/token", authority: Fixture.authority,
        headers: [("Content-Type", "application/x-www-form-urlencoded")],
        body: Array("client_id=\(client.id)&client_secret=\(secret)".utf8))
    }
    try await hammer(watched, status: 401) { ask("wrong") }
    await refuseEarly(ask("wrong"), watched)
    #expect(await fixture.respond(ask(secret.exposedValue)).status == 400)
  }
}
