import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What a phone can answer besides yes and no.
@Suite struct PhoneActsTests {
  private func waiting() async throws -> (Fixture, TestPhone, StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    return (fixture, phone, try await fixture.started("alice"))
  }

  private func reported() async throws -> (Fixture, StartedSession) {
    let (fixture, phone, session) = try await waiting()
    let reply = try await phone.answer(.notMe, to: try #require(try await phone.list().first))
    #expect(reply.status == 200)
    return (fixture, session)
  }

  @Test func notMeDenies() async throws {
    let (fixture, session) = try await reported()
    #expect(
      try await fixture.status(of: session) == StatusReply(status: .cancelled, authenticated: false, reason: "NOT_ME"))
  }

  @Test func notMeBlocksTheSourceForFifteenMinutes() async throws {
    let (fixture, _) = try await reported()
    fixture.clock.advance(seconds: 899)
    let refused = await fixture.respond(try fixture.startRequest("alice"))
    #expect(refused.status == 200)
    #expect(try StartReply(parsing: refused.body) == .notStarted(reason: "SOURCE_BLOCKED"))
    fixture.clock.advance(seconds: 1)
    _ = try await fixture.started("alice")
  }

  @Test func aBlockOutlivesARestart() async throws {
    let (fixture, _) = try await reported()
    let reply = try await fixture.restarted().respond(to: try fixture.startRequest("alice"))
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "SOURCE_BLOCKED"))
  }

  @Test func aBlockIsForgottenAfterItsTimeOnly() async throws {
    let (fixture, _) = try await reported()
    func count() async throws -> Int? {
      try await fixture.service.storage.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM source_block") }
    }
    try await fixture.service.tidy()
    #expect(try await count() == 1)
    fixture.clock.advance(seconds: 900)
    try await fixture.service.tidy()
    #expect(try await count() == 0)
  }

  @Test(arguments: [
    SignInContext(host: "web-2"), SignInContext(host: "web-1", service: "sudo"),
    SignInContext(host: "web-1", remoteHost: "192.0.2.1"),
  ])
  func aBlockLeavesTheUsersOtherWays(_ context: SignInContext) async throws {
    let (fixture, _) = try await reported()
    _ = try await fixture.started("alice", context: context)
  }

  @Test func aBlockLeavesOtherUsers() async throws {
    let (fixture, _) = try await reported()
    _ = try await TestPhone.registered(in: fixture, user: "bob")
    _ = try await fixture.started("bob")
  }

  @Test func aPlainDenialBlocksNothing() async throws {
    let (fixture, phone, _) = try await waiting()
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    _ = try await fixture.started("alice")
  }

  @Test func aPhoneThatCannotEndsTheRequestAsFailed() async throws {
    let (fixture, phone, session) = try await waiting()
    #expect(try await phone.answer(.unable, to: try #require(try await phone.list().first)).status == 200)
    #expect(
      try await fixture.status(of: session)
        == StatusReply(status: .failed, authenticated: false, reason: "METHOD_NOT_AVAILABLE"))
  }

  @Test(arguments: [DeviceAnswer.deny, .notMe, .unable])
  func noApprovalComesAfter(_ answer: DeviceAnswer) async throws {
    let (_, phone, _) = try await waiting()
    let request = try #require(try await phone.list().first)
    try await phone.answer(answer, to: request)
    let second = try await phone.answer(.approve, to: request)
    #expect(second.status == 409)
    #expect(second.reason == "ALREADY_ANSWERED")
  }

  private func approved() async throws -> (Fixture, TestPhone, StartedSession, id: String) {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    let live = try DeviceStatusReply(parsing: try await phone.status().body).sessions
    return (fixture, phone, session, try #require(live.first).session)
  }

  @Test func aPhoneEndsASessionOfItsUsers() async throws {
    let (fixture, phone, session, id) = try await approved()
    #expect(try DeviceStatusReply(parsing: try await phone.end([id]).body).sessions.isEmpty)
    #expect(
      try await fixture.status(of: session)
        == StatusReply(status: .closed, authenticated: false, reason: "ENDED_ON_PHONE"))
  }

  @Test func endingTwiceSucceedsTwice() async throws {
    let (_, phone, _, id) = try await approved()
    #expect(try await phone.end([id]).status == 200)
    #expect(try await phone.end([id]).status == 200)
  }

  @Test func aPhoneDoesNotEndAnotherUsersSession() async throws {
    let (fixture, _, session, id) = try await approved()
    let other = try await TestPhone.registered(in: fixture, user: "mallory")
    let reply = try await other.end([id])
    #expect(reply.status == 404)
    #expect(reply.reason == "UNKNOWN_SESSION")
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func anEndWithAnUnknownSessionEndsNone() async throws {
    let (fixture, phone, session, id) = try await approved()
    #expect(try await phone.end([id, "invented"]).status == 404)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func anEndOfNothingIsRefused() async throws {
    let (_, phone, _, _) = try await approved()
    #expect(try await phone.end([]).status == 400)
    #expect(try await phone.send(DeviceRoute.end, try phone.ask(.end).json).status == 400)
  }

  @Test func anAskForTheStatusEndsNothing() async throws {
    let (_, phone, _, id) = try await approved()
    let statement = EndStatement(ask: try phone.ask(.status), sessions: [id]).json
    #expect(try await phone.send(DeviceRoute.end, statement).status == 400)
  }

  /// A session that the phone left, and a session approved since.
  private func approvedWhileAway() async throws -> (Fixture, TestPhone, far: StartedSession, near: StartedSession) {
    let (fixture, phone, far, _) = try await approved()
    try await phone.change(.leave)
    let near = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    try await phone.approveOnly()
    _ = try await fixture.status(of: near)
    return (fixture, phone, far, near)
  }

  @Test func anApprovalWhileAwayBringsNoOtherSessionBack() async throws {
    let (fixture, phone, far, near) = try await approvedWhileAway()
    #expect(try await fixture.status(of: far).status == .walkaway)
    #expect(try await fixture.status(of: near).status == .active)
    let reply = try DeviceStatusReply(parsing: try await phone.status().body)
    #expect(reply.presence == .away)
    #expect(Set(reply.sessions.map(\.status.word)) == ["walkaway", "active"])
  }

  @Test func leavingAgainLeavesWhatWasApprovedSince() async throws {
    let (fixture, phone, far, near) = try await approvedWhileAway()
    try await phone.change(.leave)
    #expect(try await fixture.status(of: far).status == .walkaway)
    #expect(try await fixture.status(of: near).status == .walkaway)
  }

  @Test func aPhoneIsToldWhetherItsSessionsLeaveWithIt() async throws {
    let (fixture, phone, session, _) = try await approved()
    #expect(try DeviceStatusReply(parsing: try await phone.status().body).walksAway)
    try await fixture.service.storage.write { [id = fixture.application.id] db in
      var settings = try ApplicationSettings.of(id, in: db)
      settings.walkaway = false
      try settings.store(for: id, in: db)
    }
    let told = try DeviceStatusReply(parsing: try await phone.status().body)
    #expect(!told.walksAway)
    let left = try DeviceStatusReply(parsing: try await phone.change(.leave).body)
    #expect(!left.walksAway)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func aLookAtThePageBringsNobodyBack() async throws {
    let (fixture, phone, session, _) = try await approved()
    _ = try await phone.change(.leave)
    let body = try UnverifiedStatement.body(signing: try phone.ask(.look).json, with: phone.key)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.look, body)).status == 200)
    #expect(try await fixture.status(of: session).status == .walkaway)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.look, body)).reason == "NONCE_REPLAYED")
  }

  @Test func aStatementForAnotherRouteIsRefused() async throws {
    let (_, phone, _, _) = try await approved()
    #expect(try await phone.send(DeviceRoute.look, try phone.ask(.status).json).status == 400)
    #expect(try await phone.send(DeviceRoute.status, try phone.ask(.look).json).status == 400)
  }

  @Test func aPhoneUnregistersItself() async throws {
    let (fixture, phone, session) = try await waiting()
    #expect(try await phone.unregister().status == 200)
    #expect(try await phone.status().reason == "DEVICE_CUT_OFF")
    #expect(try await fixture.status(of: session).reason == "PHONE_UNREGISTERED")
    #expect(
      try await fixture.start("alice", context: SignInContext(host: "web-2"))
        == .notStarted(reason: "NO_MOBILE_DEVICE"))
  }

  @Test func unregisteringLeavesWhatWasApproved() async throws {
    let (fixture, phone, session, _) = try await approved()
    _ = try await phone.unregister()
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func anUnregisteredUserCanRegisterAgain() async throws {
    let (fixture, phone, _) = try await waiting()
    _ = try await phone.unregister()
    _ = try await TestPhone.registered(in: fixture)
  }

  @Test func anUnregistrationIsNotReplayed() async throws {
    let (fixture, phone, _) = try await waiting()
    let nonce = "0123456789abcdef0123456789abcdef"
    let body = try UnverifiedStatement.body(signing: try phone.ask(.unregister, nonce: nonce).json, with: phone.key)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.unregister, body)).status == 200)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.unregister, body)).reason == "DEVICE_CUT_OFF")
  }
}
