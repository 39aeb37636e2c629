import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct HistoryMarkTests {
  private func mark(_ fixture: Fixture, _ service: SignInService? = nil) async throws -> ServiceMark {
    let request = try fixture.signed("GET", "/authentication/service_mark/\(fixture.application.id)")
    let reply = await (service ?? fixture.service).respond(to: request)
    #expect(reply.status == 200)
    #expect(try reply.isSigned(for: request, by: fixture.application.secret))
    return try #require(ServiceMark(in: reply.body))
  }

  @Test func standsInEverySignedReplyUnderItsSignature() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let request = try fixture.startRequest("alice")
    let start = await fixture.respond(request)
    let atStart = try #require(ServiceMark(in: start.body))
    #expect(try start.isSigned(for: request, by: fixture.application.secret))
    guard case .started(let session) = try StartReply(parsing: start.body) else { throw Fixture.NotStarted() }
    try await phone.approveOnly()
    let question = try fixture.signed("GET", session.statusURL, by: session)
    let status = await fixture.respond(question)
    let approved = try #require(try StatusReply(parsing: status.body).mark)
    #expect(try status.isSigned(for: question, by: fixture.application.secret))
    #expect(approved.continues(atStart) && approved != atStart)
    let end = try await fixture.logOut(session)
    let ended = try #require(ServiceMark(in: end.body))
    #expect(ended.continues(approved) && ended != approved)
    #expect(try await mark(fixture) == ended)
  }

  @Test func isWrittenAsIfTheBodyWereRead() throws {
    let mark = ServiceMark(epoch: 5, counter: 100)
    let session = StatusReply(status: .active, authenticated: true, reason: "{}", session: "s").encoded()
    for body in [
      session, AcknowledgementReply(done: false, reason: "}").encoded(), Array("{}".utf8), Array("PNG".utf8), [],
    ] {
      #expect(ServiceReply(200, body).marked(mark).body == mark.added(to: body))
    }
  }

  @Test func aRefusalIsMarkedToo() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(try fixture.startRequest("nobody"))
    #expect(reply.status == 404)
    #expect(ServiceMark(in: reply.body) != nil)
  }

  @Test func isNotToldToStrangers() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(
      ServiceRequest(
        method: "GET", target: "/authentication/service_mark/\(fixture.application.id)",
        authority: Fixture.authority))
    #expect(reply.status == 401)
    #expect(ServiceMark(in: reply.body) == nil)
  }

  @Test func goesOnAfterARestart() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let before = try await mark(fixture)
    #expect(try await mark(fixture, try fixture.restarted()) == before)
  }

  @Test func aCopyOfTheFileThatIsPutBackGoesBack() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let copy = fixture.folder + "/copy"
    // Not by `backup`, but like a machine that was reset, or a file system's snapshot.
    try await fixture.service.storage.copyAll(to: copy)
    _ = try await fixture.started("alice")
    let later = try await mark(fixture)
    let restored = try fixture.putBack(copy)
    #expect(try await mark(fixture, restored).continues(later) == false)
  }

  @Test func aRestoredCopyBeginsAHigherEpochEachTime() async throws {
    let fixture = try await Fixture()
    let copy = fixture.folder + "/copy"
    try await fixture.service.storage.backUp(to: copy)
    let before = try await mark(fixture)
    var last = before
    for _ in 0..<2 {
      fixture.clock.advance(seconds: 60)
      let restored = try fixture.putBack(copy)
      #expect(try await restored.storage.beginWithCopy())
      // A request that was signed earlier is refused as usual.
      fixture.clock.advance(seconds: 1)
      let now = try await mark(fixture, restored)
      #expect(now.epoch > last.epoch)
      #expect(!now.continues(last))
      last = now
    }
    #expect(before.epoch > 0)
  }
}
