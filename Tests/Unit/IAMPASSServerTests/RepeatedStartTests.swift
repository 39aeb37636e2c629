import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A start that is sent again, since its computer lost the connection.
@Suite struct RepeatedStartTests {
  private static let name = StartName("0123456789abcdef0123456789abcdef")

  private func named(_ ask: SessionStartRequest) -> SessionStartRequest {
    var ask = ask
    ask.name = Self.name
    return ask
  }

  private func begun(_ start: SessionStart) -> Session? {
    guard case .begun(let session, isRung: true) = start.outcome else { return nil }
    return session
  }

  private func isRefused(_ start: SessionStart) -> Bool {
    guard case .not(.reason(.badRequest)) = start.outcome else { return false }
    return true
  }

  @Test(arguments: StorageEngine.allCases) func itIsTheSameSession(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let ask = named(room.ask())
    let session = try await room.started(ask)
    #expect(begun(try await room.start(ask, on: room.opened()))?.id == session.id)
    // It holds nothing back, and its answer counts.
    #expect(try await room.storage.session(session.id)?.heldBack == 0)
    _ = try await room.answer(session.id, .deny, by: phone).get()
    #expect(begun(try await room.start(ask))?.lifecycle.ending == .denied)
  }

  @Test(arguments: StorageEngine.allCases) func oneOfManyStartsByTheSameNameCounts(_ engine: StorageEngine) async throws
  {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let ask = named(room.ask())
    let wins = try await room.wins { connection, _ in (try? await room.started(ask, on: connection)) != nil }
    #expect(wins == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aNameIsTakenForItsOwnStartAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    _ = try await room.started(named(room.ask()))
    #expect(isRefused(try await room.start(named(room.ask(host: "web-2")))))
    let challenge = try #require(ApprovalChallenge(Array(0..<32)))
    #expect(isRefused(try await room.start(named(room.ask(challenge: challenge)))))
    // Another computer's names are its own.
    let other = try await room.storage.createHostCredential(
      named: "desk 7", host: "web-1", of: room.application.id, at: room.now)
    #expect(begun(try await room.start(named(room.ask(host: "web-1", by: other)))) == nil)
  }

  private func start(_ fixture: Fixture, isSigned: Bool = true) async throws -> StartReply {
    let body = StartRequest(context: SignInContext(service: "sudo"), start: Self.name).encoded()
    let query = isSigned ? "?body_sha256=" + BodyDigest.value(of: body) : ""
    let request = try fixture.signed(
      "POST", "/authentication/authenticate_user/\(fixture.application.id)/alice" + query, body)
    return try StartReply(parsing: await fixture.respond(request).body)
  }

  @Test func thePhoneRingsOnceMoreHoweverOftenItIsSent() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    guard case .started(let session) = try await start(fixture) else { throw Fixture.NotStarted() }
    let name = try #require(session.name)
    var rings: [Bool] = []
    for _ in 1...3 {
      let watch = fixture.service.board.watch(.session(name))
      guard case .started = try await start(fixture) else { throw Fixture.NotStarted() }
      // What was told before is still heard.
      watch.abandon()
      rings.append(await watch.wait(milliseconds: 60_000))
    }
    #expect(rings == [true, false, false])
  }

  private func cancelRequest(_ id: String, _ name: String = "0123456789abcdef0123456789abcdef") -> String {
    "/authentication/cancel_start/\(id)/\(name)"
  }

  @Test(arguments: StorageEngine.allCases)
  func oneWhoseReplyDidNotComeIsEndedByItsName(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    _ = try await TestPhone.registered(in: fixture)
    guard case .started(let session) = try await start(fixture) else { throw Fixture.NotStarted() }
    let path = cancelRequest(fixture.application.id)
    #expect(await fixture.respond(try fixture.signed("POST", path)).status == 200)
    #expect(try await fixture.status(of: session).status == .closed)
    // The user's next one need not wait for it.
    _ = try await fixture.started("alice")
    // It may come twice, as its start may.
    #expect(await fixture.respond(try fixture.signed("POST", path)).status == 200)
  }

  @Test func itIsEndedByItsOwnComputerAlone() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    guard case .started(let session) = try await start(fixture) else { throw Fixture.NotStarted() }
    let other = try await fixture.service.storage.createHostCredential(
      named: "desk 7", host: "desk-7", of: fixture.application.id, at: fixture.clock.now)
    // For that computer there is no such start.
    #expect(await fixture.respond(try fixture.signed("POST", cancelRequest(other.id), by: other)).status == 200)
    #expect(try await fixture.status(of: session).status == .pending)
    let unsigned = ServiceRequest(
      method: "POST", target: cancelRequest(fixture.application.id), authority: Fixture.authority)
    #expect(await fixture.respond(unsigned).status != 200)
    let bad = try fixture.signed("POST", cancelRequest(fixture.application.id, "start"))
    #expect(await fixture.respond(bad).status == 400)
    #expect(try await fixture.status(of: session).status == .pending)
  }

  @Test func noneIsMadeForAComputerThatHasGone() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let asked = try fixture.startRequest("alice")
    let request = ServiceRequest(
      method: asked.method, target: asked.target, authority: asked.authority, headers: asked.headers, body: asked.body,
      hasLeft: { true })
    #expect(await fixture.respond(request).status == 503)
    // Otherwise it would have to wait for the first one.
    _ = try await fixture.started("alice")
  }

  @Test func anUnsignedNameDoesNotCount() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    guard case .started(let unsigned) = try await start(fixture, isSigned: false) else { throw Fixture.NotStarted() }
    #expect(unsigned.name != Self.name?.session(of: fixture.application.id))
    // The first one is open.
    guard case .notStarted("REQUEST_PENDING") = try await start(fixture) else { throw Fixture.NotStarted() }
    try await phone.approveOnly()
    guard case .started(let signed) = try await start(fixture), case .started(let again) = try await start(fixture)
    else { throw Fixture.NotStarted() }
    #expect(signed.name == Self.name?.session(of: fixture.application.id))
    #expect(again == signed)
  }
}
