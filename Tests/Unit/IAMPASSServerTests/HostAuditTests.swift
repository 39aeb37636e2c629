import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What a computer is told of the audit: its own sign-ins.
@Suite struct HostAuditTests {
  private func ask(_ fixture: Fixture, _ credential: HostCredential, _ query: String = "") async throws -> ServiceReply
  {
    await fixture.respond(try fixture.signed("GET", "/authentication/audit/\(credential.id)" + query, by: credential))
  }

  private func computer(_ name: String, in fixture: Fixture) async throws -> HostCredential {
    try await fixture.service.storage.createHostCredential(named: name, host: name, of: "shop", at: fixture.clock.now)
  }

  private func signIn(_ fixture: Fixture, _ phone: TestPhone, from computer: HostCredential) async throws -> String {
    let context = SignInContext(service: "sudo", user: "alice")
    let reply = await fixture.respond(try fixture.startRequest("alice", context: context, by: computer))
    guard case .started(let session) = try StartReply(parsing: reply.body) else { throw Fixture.NotStarted() }
    try await phone.approveOnly()
    return try #require(session.name)
  }

  @Test func aComputerIsToldItsOwnSignInsUnderTheSessionsName() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let (desk, other) = (try await computer("desk", in: fixture), try await computer("other", in: fixture))
    let own = try await signIn(fixture, phone, from: desk)
    _ = try await signIn(fixture, phone, from: other)
    let reply = try await ask(fixture, desk)
    #expect(reply.headers.contains { $0.name == ReplySignature.targetHeader })
    let page = try HostAuditReply(parsing: reply.body)
    #expect(page.entries.map(\.event) == ["approved", "asked"])
    #expect(page.entries.allSatisfy { $0.session == own && $0.details["account"] == "alice" })
    #expect((page.credential, page.hasMore) == (desk.id, false))
  }

  @Test func aNewNameOfACredentialChangesNothing() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let first = try await computer("desk", in: fixture)
    _ = try await signIn(fixture, phone, from: first)
    _ = try await fixture.service.storage.revokeCredential(first.id, of: fixture.application.id, at: fixture.clock.now)
    let second = try await computer("desk", in: fixture)
    #expect(try HostAuditReply(parsing: try await ask(fixture, second).body).entries.isEmpty)
    #expect(try await ask(fixture, first).status == 401)
  }

  @Test func anApplicationIsRefused() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(try fixture.signed("GET", "/authentication/audit/\(fixture.application.id)"))
    #expect((reply.status, reply.reason) == (403, "HOST_CREDENTIAL_REQUIRED"))
  }

  @Test(arguments: ["?since=-1", "?since=x", "?before=-1", "?since=9223372036854775807", "?before=1&before=2"])
  func badQuestionsAreRefused(_ query: String) async throws {
    let fixture = try await Fixture()
    let desk = try await computer("desk", in: fixture)
    #expect(try await ask(fixture, desk, query).status == 400)
  }

  /// The statuses name the phone that approved, and no status before does.
  @Test func theStatusNamesThePhoneThatApproved() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    func approvedBy() async throws -> String? {
      let reply = await fixture.respond(try fixture.signed("GET", session.statusURL, by: session))
      return try StatusReply(parsing: reply.body).approvedBy
    }
    #expect(try await approvedBy() == nil)
    try await phone.approveOnly()
    #expect(try await approvedBy() == phone.device)
  }

  @Test(arguments: StorageEngine.allCases)
  func eachEngineTellsAComputersEntriesInPages(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let desk = try await room.storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: room.now)
    var sessions: [String] = []
    for _ in 0..<3 {
      let session = try await room.started(room.ask(by: desk))
      _ = try await room.answer(session.id, .deny, by: phone)
      sessions.append(session.id)
      room.clock.advance(seconds: 1_000)
    }
    _ = try await room.started(room.ask())
    func ids(since: Int64 = 0, before: Int64 = .max) async throws -> [AuditEntry] {
      try await room.storage.auditEntries(HostAuditQuery(credential: desk.id, since: since, before: before))
    }
    let all = try await ids()
    #expect(all.map { $0["session"] } == sessions.reversed().flatMap { [$0, $0] })
    #expect(try await ids(before: all[1].id).map(\.id) == all.dropFirst(2).map(\.id))
    #expect(try await ids(since: all[1].at.milliseconds).map(\.id) == all.prefix(2).map(\.id))
  }

  @Test func aPageIsBoundedAndSaysThatThereIsMore() throws {
    let entries = (1...200).map { number in
      AuditEntry(
        id: Int64(200 - number), at: UnixTime(milliseconds: 1), event: "asked",
        details: [("session", "s"), ("account", String(repeating: "a", count: 1_000))])
    }
    let page = HostAuditQuery(credential: "c", since: 0, before: .max).page(of: entries)
    #expect(page.hasMore && page.entries.count > 20)
    #expect(page.encoded().count <= HostAuditReply.greatestPage + 200)
    #expect(try HostAuditReply(parsing: page.encoded()) == page)
  }
}
