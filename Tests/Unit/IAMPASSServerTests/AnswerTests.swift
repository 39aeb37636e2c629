import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct AnswerTests {
  private func waiting() async throws -> (Fixture, TestPhone, StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    return (fixture, phone, try await fixture.started("alice"))
  }

  private func send(_ body: [UInt8], _ fixture: Fixture) async -> ServiceReply {
    await fixture.respond(TestPhone.request(DeviceRoute.answer, body))
  }

  @Test func anApprovalMakesTheSessionActive() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    #expect(try await fixture.status(of: session) == StatusReply(status: .active, authenticated: true, reason: nil))
  }

  @Test func aDenialCancelsTheSession() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    #expect(
      try await fixture.status(of: session) == StatusReply(status: .cancelled, authenticated: false, reason: "DENIED"))
  }

  @Test func listingARequestMakesItIdentifying() async throws {
    let (fixture, phone, session) = try await waiting()
    _ = try await phone.list()
    #expect(try await fixture.status(of: session).status == .identifying)
  }

  @Test func thePhoneIsShownTheContext() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let context = SignInContext(
      host: "web-1", service: "sudo", user: "alice", tty: "pts/0", remoteHost: "192.0.2.1", command: "id")
    _ = try await fixture.started("alice", context: context)
    #expect(try await phone.list().first?.context == context)
  }

  /// The signed text stays as the computer sent it. Old computers cut it at 200 characters and removed special ones.
  @Test(arguments: [
    SignInContext(host: "web-1", command: "apt upgrade" + String(repeating: " ", count: 190) + "; curl x|sh"),
    SignInContext(host: "a\u{202E}b\u{AD}\u{9B}", further: [.init(name: "to", value: "\u{3164}\u{FE0F}\n")]),
    SignInContext(command: String(repeating: "x", count: 20_000)), SignInContext(host: "web-1", command: "a?b"),
  ])
  func whatThePhoneSignsIsWhatCame(_ context: SignInContext) async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice", context: context)
    let request = try #require(try await phone.list().first)
    #expect(request.context.json.encoded() == context.json.encoded())
    #expect(try await phone.answer(.approve, to: request).status == 200)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func whatIsShownIsNotWhatIsSigned() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice", context: SignInContext(host: "a  b"))
    let request = try #require(try await phone.list().first)
    let shown = SignInContext(host: DisplayText.escaped("a  b"))
    let body = try phone.answerBody(.approve, to: request, contextHash: ShownContext.hash(shown))
    #expect(await send(body, fixture).reason == "WRONG_CONTEXT")
  }

  @Test func refusesASecondAnswer() async throws {
    let (fixture, phone, session) = try await waiting()
    let request = try #require(try await phone.list().first)
    try await phone.answer(.approve, to: request)
    let second = try await phone.answer(.deny, to: request)
    #expect(second.status == 409)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func refusesAnAnswerThatComesLate() async throws {
    let (fixture, phone, session) = try await waiting()
    let request = try #require(try await phone.list().first)
    fixture.clock.advance(seconds: 60)
    #expect(try await phone.answer(.approve, to: request).status == 410)
    #expect(try await fixture.status(of: session).status == .timeout)
  }

  @Test func refusesTheAnswerOfAnotherUsersPhone() async throws {
    let (fixture, phone, session) = try await waiting()
    let other = try await TestPhone.registered(in: fixture, user: "mallory")
    let request = try #require(try await phone.list().first)
    #expect(try await other.answer(.approve, to: request).status == 404)
    #expect(try await fixture.status(of: session).status == .identifying)
  }

  @Test func refusesAnAnswerSignedByAnotherKey() async throws {
    let (fixture, phone, session) = try await waiting()
    let request = try #require(try await phone.list().first)
    let thief = TestPhone(fixture: fixture, key: try DeviceKey.generate(), device: phone.device)
    #expect(try await thief.answer(.approve, to: request).reason == "SIGNATURE_REFUSED")
    #expect(try await fixture.status(of: session).status == .identifying)
  }

  @Test func refusesAnAnswerForAnotherService() async throws {
    let (fixture, phone, _) = try await waiting()
    let request = try #require(try await phone.list().first)
    let body = try phone.answerBody(.approve, to: request, origin: "https://elsewhere.test")
    #expect(await send(body, fixture).reason == "WRONG_ORIGIN")
  }

  @Test func refusesAnAnswerToWhatWasNotShown() async throws {
    let (fixture, phone, session) = try await waiting()
    let request = try #require(try await phone.list().first)
    let body = try phone.answerBody(
      .approve, to: request, contextHash: ShownContext.hash(SignInContext(host: "other")))
    #expect(await send(body, fixture).reason == "WRONG_CONTEXT")
    #expect(try await fixture.status(of: session).status == .identifying)
  }

  @Test func refusesAnAnswerWithAnotherNonce() async throws {
    let (fixture, phone, _) = try await waiting()
    let request = try #require(try await phone.list().first)
    #expect(await send(try phone.answerBody(.approve, to: request, nonce: "0"), fixture).reason == "WRONG_NONCE")
  }

  @Test func refusesAnAnswerThatWasChangedOnTheWay() async throws {
    let (fixture, phone, _) = try await waiting()
    let request = try #require(try await phone.list().first)
    let denial = String(decoding: try phone.answerBody(.deny, to: request), as: UTF8.self)
    let changed = denial.replacing("\"deny\"", with: "\"approve\"")
    #expect(await send(Array(changed.utf8), fixture).reason == "SIGNATURE_REFUSED")
  }

  @Test func refusesAReplayedAsk() async throws {
    let (fixture, phone, _) = try await waiting()
    let body = try phone.askBody(.leave)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.presence, body)).status == 200)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.presence, body)).reason == "NONCE_REPLAYED")
  }

  @Test func anAskForOnePurposeDoesNotServeAnother() async throws {
    let (fixture, phone, _) = try await waiting()
    let body = try phone.askBody(.status)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.presence, body)).status == 400)
  }

  @Test func leavingMakesTheSessionsWalkAway() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    try await phone.change(.leave)
    let status = try await fixture.status(of: session)
    #expect(status == StatusReply(status: .walkaway, authenticated: true, reason: nil))
  }

  @Test func returningMakesTheSessionsActiveAgain() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    try await phone.change(.leave)
    let reply = try DeviceStatusReply(parsing: try await phone.change(.return).body)
    #expect(reply.presence == .present)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func aLoggedOutRequestDisappearsFromThePhone() async throws {
    let (fixture, phone, session) = try await waiting()
    _ = try await fixture.logOut(session)
    #expect(try await phone.list().isEmpty)
  }

  @Test func aPhonesListIsHeldUntilSomethingComes() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    async let listed = phone.list(wait: 60)
    try await untilHeld(fixture.service)
    _ = try await fixture.started("alice")
    #expect(try await listed.count == 1)
  }

  @Test func aPhonesListIsHeldUntilWhatItKnowsGoes() async throws {
    let (fixture, phone, session) = try await waiting()
    let known = try await phone.list().map(\.session)
    async let listed = phone.list(known: known, wait: 60)
    try await untilHeld(fixture.service)
    _ = try await fixture.logOut(session)
    #expect(try await listed.isEmpty)
  }
}

/// Waits until the service holds this many requests, so that a change comes while they are held.
func untilHeld(_ service: SignInService, count: Int = 1) async throws {
  for _ in 0..<1_000 where service.board.heldCount < count { try await Task.sleep(for: .milliseconds(5)) }
  #expect(service.board.heldCount == count)
}
