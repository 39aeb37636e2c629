import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct PresenceBySilenceTests {
  /// A session approved by a phone that polls for requests, as iampass-phone does.
  private func signedIn(silenceLeaves: Bool = true) async throws -> (Fixture, TestPhone, StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    try await set(silenceLeaves: silenceLeaves, in: fixture)
    try await fixture.service.tidy()
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    return (fixture, phone, session)
  }

  private func set(silenceLeaves: Bool, in fixture: Fixture) async throws {
    try await fixture.service.storage.write { [id = fixture.application.id] db in
      var settings = ApplicationSettings()
      settings.silenceLeaves = silenceLeaves
      settings.matchCodes = .off
      try settings.store(for: id, in: db)
    }
  }

  /// Time passes, and housekeeping runs every 20 seconds.
  private func pass(_ seconds: Int64, in fixture: Fixture, at service: SignInService? = nil) async throws {
    for end in stride(from: seconds, to: 0, by: -20) {
      fixture.clock.advance(seconds: min(end, 20))
      try await (service ?? fixture.service).tidy()
    }
  }

  /// Silence counts from now, in addition to `counted`.
  private func expectToCount(
    _ session: StartedSession, in fixture: Fixture, at service: SignInService? = nil, counted: Int64 = 0
  ) async throws {
    #expect(try await fixture.status(of: session).status == .active)
    try await pass(150 - counted, in: fixture, at: service)
    #expect(try await fixture.status(of: session).status == .active)
    try await pass(1, in: fixture, at: service)
    #expect(try await fixture.status(of: session).status == .walkaway)
  }

  @Test func aSilentPhoneHasLeft() async throws {
    let (fixture, _, session) = try await signedIn()
    try await expectToCount(session, in: fixture)
  }

  @Test func theServicesOwnAbsenceIsNotSilence() async throws {
    let (fixture, _, session) = try await signedIn()
    fixture.clock.advance(seconds: 160)
    let restarted = try fixture.restarted()
    try await restarted.tidy()
    try await expectToCount(session, in: fixture, at: restarted)
  }

  @Test(arguments: [200, -200])
  func aStepOfTheClockIsNeitherSilenceNorCredit(_ step: Int64) async throws {
    let (fixture, _, session) = try await signedIn()
    try await pass(100, in: fixture)
    fixture.clock.step(seconds: step)
    try await fixture.service.tidy()
    try await expectToCount(session, in: fixture, counted: 100)
  }

  @Test func aSleepOfTheComputerIsNotSilence() async throws {
    let (fixture, _, session) = try await signedIn()
    fixture.clock.advance(seconds: 200)
    try await fixture.service.tidy()
    try await expectToCount(session, in: fixture, counted: 20)
  }

  @Test func whoIsSilentLeavesAlsoWhereHousekeepingIsAlwaysLate() async throws {
    let (fixture, _, session) = try await signedIn()
    for _ in 0..<8 {
      fixture.clock.advance(seconds: 70)
      try await fixture.service.tidy()
    }
    #expect(try await fixture.status(of: session).status == .walkaway)
  }

  @Test func theTimeWhileTheSettingWasOffIsNotSilence() async throws {
    let (fixture, _, session) = try await signedIn()
    try await set(silenceLeaves: false, in: fixture)
    try await pass(1_000, in: fixture)
    try await set(silenceLeaves: true, in: fixture)
    try await fixture.service.tidy()
    try await expectToCount(session, in: fixture)
  }

  @Test func askingForTheStatusIsHeard() async throws {
    let (fixture, phone, session) = try await signedIn()
    for _ in 0..<5 {
      try await pass(120, in: fixture)
      _ = try await phone.status()
    }
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func anAnswerIsHeard() async throws {
    let (fixture, phone, session) = try await signedIn()
    _ = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    let request = try #require(try await phone.list().first)
    try await pass(50, in: fixture)
    try await phone.answer(.deny, to: request)
    try await pass(120, in: fixture)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func whoHearsOfRequestsInAnotherWayIsNotCounted() async throws {
    let (fixture, phone, session) = try await signedIn(silenceLeaves: false)
    try await set(silenceLeaves: true, in: fixture)
    _ = try await phone.status()
    try await pass(200, in: fixture)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func aPhoneThatIsHeardAgainIsBack() async throws {
    let (fixture, phone, session) = try await signedIn()
    try await pass(200, in: fixture)
    _ = try await phone.list()
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func aSilentPhoneIsBackAlsoWhereTheSettingWasSwitchedOff() async throws {
    let (fixture, phone, session) = try await signedIn()
    try await pass(200, in: fixture)
    try await set(silenceLeaves: false, in: fixture)
    _ = try await phone.list()
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func aPhoneThatAsksNowAndThenStays() async throws {
    let (fixture, phone, session) = try await signedIn()
    for _ in 0..<5 {
      try await pass(120, in: fixture)
      _ = try await phone.list()
    }
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func whoSaidThatHeLeavesIsNotBackByAsking() async throws {
    let (fixture, phone, session) = try await signedIn()
    try await phone.change(.leave)
    try await pass(200, in: fixture)
    _ = try await phone.list()
    #expect(try await fixture.status(of: session).status == .walkaway)
  }

  @Test func silenceLeavesWhatWasApprovedWhileAway() async throws {
    let (fixture, phone, far) = try await signedIn()
    try await phone.change(.leave)
    let near = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    try await phone.approveOnly()
    try await expectToCount(near, in: fixture)
    _ = try await phone.list()
    #expect(try await fixture.status(of: near).status == .walkaway)
    #expect(try await fixture.status(of: far).status == .walkaway)
  }

  @Test func whoIsSilentAndThenLeavesIsAway() async throws {
    let (fixture, phone, session) = try await signedIn()
    try await pass(200, in: fixture)
    try await phone.change(.leave)
    _ = try await phone.list()
    #expect(try await fixture.status(of: session).status == .walkaway)
  }

  @Test func itIsOffByItself() async throws {
    let (fixture, _, session) = try await signedIn(silenceLeaves: false)
    try await pass(1_000, in: fixture)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func aBrowserIsKnownByItsHeaders() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let body = try phone.askBody(.requests)
    let request = TestPhone.request(DeviceRoute.requests, body, headers: [("Sec-Fetch-Site", "same-origin")])
    #expect(PresenceBySilence.isBrowser(request))
    #expect(!PresenceBySilence.isBrowser(TestPhone.request(DeviceRoute.requests, body)))
  }
}
