import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct SessionTests {
  private func waiting() async throws -> (Fixture, TestPhone, StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    return (fixture, phone, try await fixture.started("alice"))
  }

  @Test func aStartedSessionIsAccepted() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    #expect(await fixture.respond(try fixture.startRequest("alice")).status == 202)
  }

  @Test func theSessionsTokenIsNotInItsAddresses() async throws {
    let (_, _, session) = try await waiting()
    #expect(!session.statusURL.contains(session.token.exposedValue))
    #expect(!session.logoutURL.contains(session.token.exposedValue))
  }

  @Test func aUserWithoutPhoneIsNotStarted() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    #expect(try await fixture.start("alice") == .notStarted(reason: "NO_MOBILE_DEVICE"))
  }

  @Test func anUnknownUserIsNotFound() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(try fixture.startRequest("nobody"))
    #expect(reply.status == 404)
    #expect(reply.reason == "UNKNOWN_USER")
  }

  @Test(arguments: ["facial", "device,facial"])
  func startsNothingByMethodsThatNoPhoneHas(_ methods: String) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    #expect(
      try await fixture.start("alice", query: "?methods=" + methods) == .notStarted(reason: "METHOD_NOT_AVAILABLE"))
  }

  @Test(arguments: ["telepathy", "acceptance,telepathy", "ACCEPTANCE"])
  func refusesMethodsThatDoNotExist(_ methods: String) async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let reply = await fixture.respond(try fixture.startRequest("alice", query: "?methods=" + methods))
    #expect(reply.status == 400)
    #expect(reply.reason == "UNKNOWN_METHOD")
    #expect(try await phone.list().isEmpty)
  }

  @Test func aReplySignedForAnothersNonceNamesItsOwnSession() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture, user: "root")
    let phone = try await TestPhone.registered(in: fixture, user: "mallory")
    let wanted = try await fixture.started("root", context: SignInContext(host: "web-1", user: "root"))
    let own = try await fixture.started("mallory", context: SignInContext(host: "web-1", user: "mallory"))
    try await phone.approveOnly()
    // An intermediary asks about the other session with the same nonce.
    let reply = await fixture.respond(try fixture.signed("GET", own.statusURL, by: own, nonce: 4_711))
    let signature = reply.headers.first { $0.name == ReplySignature.header }?.value
    #expect(
      signature
        == ReplySignature.signature(secret: fixture.application.secret, nonce: "4711", status: 200, body: reply.body))
    let told = try StatusReply(parsing: reply.body)
    #expect(told.status == .active)
    #expect(told.session == own.name)
    #expect(own.name != nil && own.name != wanted.name)
    let end = try AcknowledgementReply(parsing: await fixture.logOut(own).body)
    #expect(end.session == own.name)
  }

  @Test func aContextThatWasChangedOnTheWayStartsNothing() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let sent = StartRequest(context: SignInContext(host: "web-1", service: "su")).encoded()
    let path = "/authentication/authenticate_user/\(fixture.application.id)/alice"
    let target = path + "?\(BodyDigest.name)=\(BodyDigest.value(of: sent))"
    let changed = StartRequest(context: SignInContext(host: "web-1", service: "sudo")).encoded()
    let nothing = path + "?\(BodyDigest.name)=\(BodyDigest.value(of: Array("{}".utf8)))"
    for (target, body) in [
      (target, changed), (target, []), (target + "&\(BodyDigest.name)=", sent), (nothing, sent),
    ] {
      let reply = await fixture.respond(try fixture.signed("POST", target, body))
      #expect(reply.status == 400)
      #expect(reply.reason == "WRONG_BODY")
    }
    #expect(try await phone.list().isEmpty)
    #expect(await fixture.respond(try fixture.signed("POST", target, sent)).status == 202)
  }

  @Test(arguments: ["acceptance", "device,acceptance", ""])
  func takesMethodsWithAcceptance(_ methods: String) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice", query: "?methods=" + methods)
  }

  @Test(arguments: ["0", "-1", "2592001", "x", "1.5", ""])
  func refusesADurationOutsideItsBounds(_ seconds: String) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let reply = await fixture.respond(try fixture.startRequest("alice", query: "?duration_seconds=" + seconds))
    #expect(reply.status == 400)
  }

  @Test func aSecondRequestFromTheSameSourceIsNotStarted() async throws {
    let (fixture, _, _) = try await waiting()
    #expect(try await fixture.start("alice") == .notStarted(reason: "REQUEST_PENDING"))
  }

  @Test func thePhoneIsToldHowManyRequestsOfTheSourceWereHeldBack() async throws {
    let (fixture, phone, _) = try await waiting()
    #expect(try await phone.list().map(\.blocked) == [0])
    for _ in 0..<3 { _ = try await fixture.start("alice") }
    _ = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    #expect(try await phone.list().map(\.blocked) == [3, 0])
  }

  @Test func aRequestFromAnotherSourceIsStarted() async throws {
    let (fixture, _, _) = try await waiting()
    _ = try await fixture.started("alice", context: SignInContext(host: "web-2"))
  }

  @Test func aRequestAfterALogoutIsStarted() async throws {
    let (fixture, _, session) = try await waiting()
    _ = try await fixture.logOut(session)
    _ = try await fixture.started("alice")
  }

  @Test func aRequestAfterATimeoutIsStarted() async throws {
    let (fixture, _, _) = try await waiting()
    fixture.clock.advance(seconds: 60)
    _ = try await fixture.started("alice")
  }

  @Test func aUserHasTwentyOpenRequestsAtMost() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    for number in 0..<20 { _ = try await fixture.started("alice", context: SignInContext(host: "web-\(number)")) }
    #expect(
      try await fixture.start("alice", context: SignInContext(host: "web-20"))
        == .notStarted(reason: "REQUEST_PENDING"))
  }

  /// The reply with the change may have been lost.
  @Test func whoAsksAgainRightAfterAChangeIsHeldForASecondAtMost() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    let stored = try await fixture.stored(session)
    let now = fixture.clock.now
    #expect(try #require(stored).holdEnd(arrival: now, wait: 20) == now.advanced(seconds: 1))
    let later = now.advanced(seconds: 5)
    #expect(try #require(stored).holdEnd(arrival: later, wait: 20) == later.advanced(seconds: 20))
  }

  /// Otherwise a thousand of them would end at a thousand different times.
  @Test func longHoldsOfOneSecondEndTogether() async throws {
    let (fixture, _, session) = try await waiting()
    let stored = try await fixture.stored(session)
    let second = UnixTime(milliseconds: fixture.clock.now.milliseconds / 1_000 * 1_000).advanced(seconds: 10)
    for part: Int64 in [0, 1, 999] {
      let arrival = UnixTime(milliseconds: second.milliseconds + part)
      #expect(try #require(stored).holdEnd(arrival: arrival, wait: 20) == second.advanced(seconds: 20))
      #expect(try #require(stored).holdEnd(arrival: arrival, wait: 9) == arrival.advanced(seconds: 9))
    }
  }

  @Test func theStatusIsHeldUntilItChanges() async throws {
    let (fixture, phone, session) = try await waiting()
    async let status = fixture.status(of: session, wait: 60)
    try await untilHeld(fixture.service)
    _ = try await phone.list()
    #expect(try await status.status == .identifying)
  }

  @Test func everyHeldRequestLearnsOfAChange() async throws {
    let (fixture, phone, session) = try await waiting()
    async let first = fixture.status(of: session, wait: 60)
    async let second = fixture.status(of: session, wait: 60)
    try await untilHeld(fixture.service, count: 2)
    fixture.clock.advance(seconds: 1)
    _ = try await phone.list()
    #expect(try await [first.status, second.status] == [.identifying, .identifying])
  }

  @Test func aChangeThatWasNotFetchedIsAnsweredAtOnce() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    #expect(try await fixture.status(of: session, wait: 20).status == .active)
  }

  @Test func aHeldReplySaysThatItWasHeld() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    let reply = await fixture.respond(
      try fixture.signed("GET", session.statusURL, by: session, headers: [("Prefer", "respond-async, Wait=\"90\"")]))
    #expect(reply.header("Preference-Applied") == "wait=60")
  }

  @Test func withoutThePreferenceTheReplyComesAtOnce() async throws {
    let (fixture, _, session) = try await waiting()
    let reply = await fixture.respond(try fixture.signed("GET", session.statusURL, by: session))
    #expect(reply.header("Preference-Applied") == nil)
    #expect(try StatusReply(parsing: reply.body).status == .pending)
  }

  @Test func stoppingAnswersWhatIsHeld() async throws {
    let (fixture, _, session) = try await waiting()
    async let status = fixture.status(of: session, wait: 60)
    try await untilHeld(fixture.service)
    fixture.service.stopHolding()
    #expect(try await status.status == .pending)
  }

  @Test func anUncollectedApprovalIsClosed() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    fixture.clock.advance(seconds: 30)
    #expect(try await fixture.status(of: session).reason == "NOT_COLLECTED")
  }

  @Test func aClientThatLeftDidNotCollect() async throws {
    let (fixture, phone, session) = try await waiting()
    let signed = try fixture.signed("GET", session.statusURL, by: session, headers: [("Prefer", "wait=20")])
    // The client is gone as soon as the request is held.
    let request = ServiceRequest(
      method: "GET", target: signed.target, authority: Fixture.authority, headers: signed.headers,
      onDeparture: { $0() })
    _ = await fixture.respond(request)
    try await phone.approveOnly()
    fixture.clock.advance(seconds: 30)
    #expect(try await fixture.status(of: session).status == .closed)
  }

  @Test func loggingOutTwiceSucceedsTwice() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    #expect(try await fixture.logOut(session).status == 200)
    #expect(try await fixture.logOut(session).status == 200)
    #expect(try await fixture.status(of: session).status == .closed)
  }

  @Test func aSessionGoesOnAfterARestart() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    let reply = try await fixture.restarted().respond(
      to: try fixture.signed("GET", session.statusURL, by: session))
    #expect(try StatusReply(parsing: reply.body).status == .active)
  }

  @Test func aSessionMayNotAskForAnother() async throws {
    let (fixture, _, session) = try await waiting()
    let other = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    #expect(await fixture.respond(try fixture.signed("GET", other.statusURL, by: session)).status == 401)
  }

  @Test func theApplicationMayNotSignForItsSession() async throws {
    let (fixture, _, session) = try await waiting()
    let target = String(session.statusURL.dropFirst(Fixture.origin.count))
    #expect(await fixture.respond(try fixture.signed("GET", target)).status == 401)
  }

  @Test func aSessionsReplyIsSignedWithTheApplicationsSecret() async throws {
    let (fixture, _, session) = try await waiting()
    let request = try fixture.signed("GET", session.statusURL, by: session)
    let reply = await fixture.respond(request)
    #expect(reply.status == 200)
    #expect(try reply.isSigned(for: request, by: fixture.application.secret))
  }

  @Test func textMessagesAreRefusedWithTheirReason() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let body = RegistrationMessageRequest(phoneNumber: "+1").encoded()
    let target = "/management/send_registration_sms/\(fixture.application.id)/alice"
    #expect(await fixture.respond(try fixture.signed("POST", target, body)).reason == "SMS_NOT_CONFIGURED")
  }
}

extension Fixture {
  fileprivate func stored(_ session: StartedSession) async throws -> Session? {
    try await service.storage.read { db in
      try db.first("SELECT * FROM session WHERE token = $1", session.token.exposedValue).map(Session.init(row:))
    }
  }
}
