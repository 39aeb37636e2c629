import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The audit says who did what is in it.
@Suite struct AuditActorTests {
  // MARK: In the storage

  private func actors(of event: String, in room: StorageFixture) async throws -> [String?] {
    try await room.storage.auditEntries(after: 0, limit: 1_000).filter { $0.event == event }.map { $0.actor?.text }
  }

  @Test(arguments: StorageEngine.allCases)
  func anActorIsThatOfOneTransactionAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await AuditActor.$current.withValue(.phone("p1")) { _ = try await room.addUser("bob") }
    _ = try await room.addUser("carol")
    await #expect(throws: StorageFixture.Thrown.self) {
      try await AuditActor.$current.withValue(.phone("p2")) {
        try await room.storage.changeSettings(of: room.application.id) { settings in
          settings.walkaway = false
          throw StorageFixture.Thrown()
        }
      }
    }
    _ = try await room.addUser("dave")
    try await AuditActor.$current.withValue(.service) { _ = try await room.addUser("eve") }
    #expect(try await actors(of: "user added", in: room) == ["phone:p1", nil, nil, "service"])
  }

  @Test(arguments: StorageEngine.allCases)
  func anAdministratorsActHasItsVisitToo(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let act = ConsoleAct(administrator: "ada", approval: "5e55", seen: nil)
    let visit = AuditActor.console(visit: Secret("cookie"), role: .helpdesk)
    try await AuditActor.$current.withValue(visit) {
      try await ConsoleAct.$current.withValue(act) { _ = try await room.addUser("bob") }
    }
    try await ConsoleAct.$current.withValue(act) { _ = try await room.addUser("carol") }
    let entries = try await room.storage.auditEntries(after: 0, limit: 1_000).filter { $0.event == "user added" }
    #expect(entries.map(\.actor) == [visit, nil])
    #expect(entries.allSatisfy { $0["administrator"] == "ada" && $0["approval"] == "5e55" })
    #expect(try await room.storage.newestAuditEntries(before: nil, limit: 1).map(\.actor) == [nil])
  }

  @Test(arguments: StorageEngine.allCases)
  func entriesAreFoundByTheBeginningOfWhoDidThem(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for (user, name) in [(0, "bob"), (1_000, "carol"), (10, "dave")] as [(UInt32, String)] {
      try await AuditActor.$current.withValue(.command(user: user, login: nil)) { _ = try await room.addUser(name) }
    }
    for (text, count) in [("cli:", 3), ("CLI:10", 2), ("cli:1000", 1), ("cli", 0), ("li:0", 0), ("phone:", 0)] {
      let found = try await room.storage.auditEntries(matching: AuditFilter(user: text), before: nil, limit: 10)
      #expect(found.entries.count == count, "\(text)")
    }
  }

  // MARK: In words

  @Test func theSignedInUserIsNamedUnlessTheyAreTheUser() {
    #expect(AuditActor.command(user: 0, login: 1_000).text == "cli:0 login=1000")
    #expect(AuditActor.command(user: 1_000, login: 1_000).text == "cli:1000")
    #expect(AuditActor.command(user: 0, login: nil).text == "cli:0")
  }

  @Test func linesSayWhoDidItOrThatNobodyIsKnown() async throws {
    let room = try await StorageFixture(.sqlite)
    try await AuditActor.$current.withValue(.command(user: 0, login: 1_000)) { _ = try await room.addUser("bob") }
    let entries = try await room.storage.auditEntries(after: 0, limit: 10)
    #expect(entries.map(\.event) == ["application made", "user added"])
    #expect(entries[0].textLine.hasSuffix("  by unknown") && entries[0].jsonLine.hasSuffix(#","actor":null}"#))
    #expect(entries[1].textLine.hasSuffix("  by cli:0 login=1000"))
    #expect(entries[1].jsonLine.hasSuffix(#","actor":{"kind":"cli","id":"0","login":"1000"}}"#))
  }

  @Test func aWordOfANewerVersionIsPrintedAsItIs() {
    #expect(AuditActor(stored: "").json.printed() == #"{"kind":""}"#)
    let newer = AuditActor(stored: "agent:a:b word=c=d x")
    #expect(newer.json.printed() == #"{"kind":"agent","id":"a:b","word":"c=d"}"#)
  }

  // MARK: In requests

  private func kinds(_ fixture: Fixture, from event: String) async throws -> [String] {
    let entries = try await fixture.service.storage.auditEntries(after: 0)
    return entries.drop { $0.event != event }.map { "\($0.event): \($0.actor?.kind ?? "-")" }
  }

  @Test func eachPartyOfASignInIsNamed() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    try await phone.change(.leave)
    try await phone.change(.return)
    _ = try await fixture.logOut(session)
    #expect(
      try await kinds(fixture, from: "user added") == [
        "user added: application", "registration link made: application", "phone registered: phone",
        "asked: application", "approved: phone", "walked away: phone", "back: phone", "ended: session",
      ])
    let entries = try await fixture.service.storage.auditEntries(after: 0)
    #expect(entries.last?.actor?.id == session.name)
    #expect(entries.filter { $0.actor?.kind == "phone" }.allSatisfy { $0.actor?.id == phone.device })
    #expect(entries.first { $0.event == "asked" }?.actor?.id == fixture.application.id)
  }

  @Test func aHostsCredentialIsNamedByItsId() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let credential = try await fixture.service.storage.createHostCredential(
      named: "laptop 7", host: "laptop-7", of: "shop", at: fixture.clock.now)
    _ = await fixture.respond(try fixture.startRequest("alice", context: SignInContext(), by: credential))
    let last = try await fixture.service.storage.auditEntries(after: 0).last
    #expect(last?.event == "asked" && last?.actor?.text == "credential:" + credential.id)
  }

  /// Whoever looks first: the computer that asks for the status, or the housekeeping.
  @Test(arguments: [true, false]) func whatTimeEndsIsTheServicesAct(_ isTidied: Bool) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    fixture.clock.advance(seconds: 90)
    if isTidied { try await fixture.service.tidy() } else { _ = try await fixture.status(of: session) }
    #expect(try await kinds(fixture, from: "asked") == ["asked: application", "ended: service"])
  }

  @Test func aHeldRequestsLateLookIsItsClients() async throws {
    let seen = await AuditActor.$current.withValue(.phone("p1")) {
      HeldReply(ChangeBoard().watch(.user(1)), patience: 1) { _ in
        .reply(ServiceReply(200, Array((AuditActor.current?.text ?? "nobody").utf8)))
      }
    }.finished { $0 }.reply()
    #expect(seen.text == "phone:p1")
  }
}
