import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct PresenceBySilenceTests {
  /// A session that was approved by a phone that asks for requests, as iampass-phone does.
  private func signedIn(silenceLeaves: Bool = true) async throws -> (Fixture, TestPhone, StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    try await fixture.service.storage.write { [id = fixture.application.id] db in
      var settings = ApplicationSettings()
      settings.silenceLeaves = silenceLeaves
      settings.matchCodes = .off
      try settings.store(for: id, in: db)
    }
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    return (fixture, phone, session)
  }

  private func pass(_ seconds: Int64, in fixture: Fixture) async throws {
    fixture.clock.advance(seconds: seconds)
    try await fixture.service.tidy()
  }

  @Test func aSilentPhoneHasLeft() async throws {
    let (fixture, _, session) = try await signedIn()
    try await pass(150, in: fixture)
    #expect(try await fixture.status(of: session).status == .active)
    try await pass(1, in: fixture)
    #expect(try await fixture.status(of: session).status == .walkaway)
  }

  @Test func aPhoneThatIsHeardAgainIsBack() async throws {
    let (fixture, phone, session) = try await signedIn()
    try await pass(200, in: fixture)
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

  @Test func itIsOffByItself() async throws {
    let (fixture, _, session) = try await signedIn(silenceLeaves: false)
    try await pass(1_000, in: fixture)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func aBrowserIsNeverTakenSo() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let body = try phone.askBody(.requests)
    let request = TestPhone.request(DeviceRoute.requests, body, headers: [("Sec-Fetch-Site", "same-origin")])
    #expect(PresenceBySilence.isBrowser(request))
    #expect(!PresenceBySilence.isBrowser(TestPhone.request(DeviceRoute.requests, body)))
  }
}
