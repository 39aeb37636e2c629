import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Administrators' phones decide on computers that wait to join.
@Suite struct JoinPhoneTests {
  private let fixture: Fixture
  private let secret = Secret(Base64.encode(Array(repeating: 9, count: 24)))

  init() async throws {
    fixture = try await Fixture()
    let order = JoinOrder(application: "shop", secret: Secret("code"), uses: 9, days: 1, isUnattended: false)
    _ = try await fixture.service.core.storage.createJoinCode(order, at: fixture.clock.now)
  }

  private var digits: String { String(JoinCode.mark(of: secret).suffix(2)) }

  private func ask() async -> ServiceReply {
    let body = JoinRequest(code: Secret("code"), name: "desk-7", secret: secret).encoded()
    return await fixture.respond(
      ServiceRequest(method: "POST", target: "/join", authority: Fixture.authority, body: body, peer: "192.0.2.7"))
  }

  private func entries() async throws -> [AuditEntry] {
    try await fixture.service.core.storage.auditEntries(after: 0, limit: 1_000)
  }

  @Test func thePhoneShowsNameAndAddressAndLetsTheComputerJoin() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    #expect(await ask().status == 202)
    let request = try #require(try await phone.list().first)
    #expect(request.context.host == "desk-7" && request.context.remoteHost == "192.0.2.7")
    #expect(request.context.service == "join to shop")
    #expect(try await phone.answer(.approve, to: request, code: digits).status == 200)
    #expect(await ask().status == 200)
    let joined = try #require(try await entries().last { $0.event == "computer joined" })
    #expect(joined["administrator"] == "ada" && joined["approval"] == request.session)
    // Nothing stays signed in by it.
    #expect(try await fixture.service.core.storage.liveSessions().isEmpty)
  }

  @Test func otherDigitsLetNobodyJoin() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = await ask()
    let request = try #require(try await phone.list().first)
    #expect(try await phone.answer(.approve, to: request, code: digits == "00" ? "01" : "00").status == 403)
    #expect(await ask().status == 202)
    #expect(try await !entries().contains { $0.event == "computer joined" })
  }

  @Test func aDenialRefusesTheComputer() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let other = try await TestPhone.administrator(in: fixture, "bo", .admin)
    _ = await ask()
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    #expect(await ask().reason == "JOIN_REFUSED")
    #expect(try await other.list().isEmpty)
    #expect(try await entries().last { $0.event == "computer refused" }?["administrator"] == "ada")
  }

  @Test(arguments: [AdministratorRole.auditor, .helpdesk])
  func onlyAdminsAreAsked(_ role: AdministratorRole) async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", role)
    #expect(await ask().status == 202)
    #expect(try await phone.list().isEmpty)
  }

  @Test func anAdminWhoIsNoLongerOneLetsNobodyJoin() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = try await TestPhone.administrator(in: fixture, "bo", .admin)
    _ = await ask()
    let request = try #require(try await phone.list().first)
    try await phone.answer(.approve, to: request, code: digits)
    let storage = fixture.service.core.storage
    _ = try await storage.setAdministrator("ada", role: .auditor, keepsOne: true, at: fixture.clock.now)
    #expect(await ask().status == 202)
  }

  @Test func anApprovalIsStillGoodForAComputerThatAsksLater() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = await ask()
    try await phone.answer(.approve, to: try #require(try await phone.list().first), code: digits)
    fixture.clock.advance(seconds: 300)
    try await fixture.service.tidy()
    #expect(await ask().status == 200)
  }

  /// The service asked the phone, and was stopped before it noted that.
  @Test func anAnswerToARequestThatWasNotNotedIsNotLost() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = await ask()
    let request = try #require(try await phone.list().first)
    try await fixture.service.storage.write { try $0.execute(sql: "DELETE FROM join_ask") }
    #expect(try await phone.answer(.approve, to: request, code: digits).status == 200)
    fixture.clock.advance(seconds: 15)
    #expect(await ask().status == 202)
    #expect(try await phone.list().isEmpty, "nobody is asked twice")
    #expect(await ask().status == 200)
    #expect(try await entries().last { $0.event == "computer joined" }?["approval"] == request.session)
  }

  @Test func eachRoundAsksForAnAnswerOfItsOwn() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = await ask()
    let first = try #require(try await phone.list().first).session
    fixture.clock.advance(seconds: JoinApproval.pause)
    try await fixture.service.tidy()
    _ = await ask()
    let second = try #require(try await phone.list().first).session
    #expect(first != second)
  }

  /// Answers are kept for longer than the sessions that they belong to, and have their ids.
  @Test func aRequestAfterTheLastOneWasForgottenHasAnotherName() {
    let now = fixture.clock.now
    let joining = Joining(
      id: "one", code: "code", name: "desk-7", mark: JoinCode.mark(of: secret), state: .waiting, address: "192.0.2.7",
      askedAt: now)
    let waiting = WaitingJoin(joining: joining, application: "shop", asks: [])
    let name = JoinApproval.startName(of: waiting, to: "ada", at: now)
    #expect(name != nil && name == JoinApproval.startName(of: waiting, to: "ada", at: now.advanced(seconds: 60)))
    #expect(name != JoinApproval.startName(of: waiting, to: "bo", at: now))
    let later = now.advanced(seconds: Session.keptAfterEnd)
    #expect(name != JoinApproval.startName(of: waiting, to: "ada", at: later))
  }

  @Test func aComputerRingsNobodyForEver() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    var rang: Set<String> = []
    for _ in 0..<30 {
      _ = await ask()
      rang.formUnion(try await phone.list().map(\.session))
      fixture.clock.advance(seconds: 100)
      try await fixture.service.tidy()
    }
    #expect(rang.count == JoinApproval.greatestRounds)
  }

  @Test(arguments: StorageEngine.allCases) func whatWasAskedIsFoundAgain(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.administratorPhone(of: "ada")
    _ = try await room.storage.createJoinCode(
      JoinOrder(application: "shop", secret: Secret("code"), uses: 1, days: 1, isUnattended: false), at: room.now)
    let ask = ReceivedJoinRequest(
      request: JoinRequest(code: Secret("code"), name: "desk-7", secret: secret), address: "192.0.2.7")
    guard case .waiting(let id) = try await room.storage.join(ask, at: room.now) else {
      Issue.record("does not wait")
      return
    }
    let session = try await room.started(room.administratorAsk(for: "ada"))
    #expect(try await room.storage.noteJoinAsk(session.id, about: id))
    #expect(try await !room.storage.noteJoinAsk(session.id, about: id))
    let found = try #require(try await room.storage.waitingJoin(id))
    #expect(found.asks.map(\.id) == [session.id])
    #expect(found.joining.name == "desk-7" && found.application == "shop")
    _ = try await room.storage.decideJoin(id, isApproved: false, at: room.now)
    #expect(try await room.storage.waitingJoin(id) == nil)
  }
}
