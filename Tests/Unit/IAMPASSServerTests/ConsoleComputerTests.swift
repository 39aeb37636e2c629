import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The console's page of computers, and the codes by which they join.
@Suite struct ConsoleComputerTests {
  private func computer(_ fixture: Fixture, _ name: String = "desk") async throws -> HostCredential {
    try await fixture.service.core.storage.createHostCredential(
      named: name, host: name, of: fixture.application.id, at: fixture.clock.now)
  }

  private func ask(_ fixture: Fixture, _ query: String, as credential: HostCredential) async throws -> Int {
    await fixture.respond(
      try fixture.signed("GET", "/authentication/user_list/\(credential.id)" + query, by: credential)
    ).status
  }

  private func list(_ name: String, in fixture: Fixture) async throws {
    _ = try await fixture.service.core.storage.listUser(UserListOrder(application: "shop", name: name, groups: nil))
  }

  @Test func aComputersVersionsAreShown() async throws {
    let fixture = try await Fixture()
    let core = fixture.service.core
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let desk = try await computer(fixture)
    func version() async throws -> Int64 {
      try #require(try await core.storage.userListVersions()[fixture.application.id])
    }
    func row() async -> [String] {
      let page = await visitor.get("/joins").text
      return page.matches(of: /data-name="(?:Version|User list)">([^<]*)</).map { String($0.1) }
    }
    try await list("alice", in: fixture)
    let first = try await version()
    #expect(try await ask(fixture, "?version=\(first)&software=0.10.0~rc1", as: desk) == 200)
    #expect(await row() == ["–", "–"])
    try await core.reports.store(in: core.storage)
    #expect(await row() == ["0.10.0~rc1", "\(first)"])
    try await list("bob", in: fixture)
    let second = try await version()
    #expect(await row() == ["0.10.0~rc1", "\(first) of \(second)"])
    #expect(try await ask(fixture, "?version=\(second)&software=0.11.0", as: desk) == 200)
    try await core.reports.store(in: core.storage)
    #expect(await row() == ["0.11.0", "\(second)"])
  }

  @Test(arguments: [
    "?software=a/b", "?software=%3Cb%3E", "?software=1&software=2", "?software=" + String(repeating: "1", count: 41),
  ])
  func whatIsNoVersionIsRefused(_ query: String) async throws {
    let fixture = try await Fixture()
    #expect(try await ask(fixture, query, as: try await computer(fixture)) == 400)
  }

  @Test(arguments: StorageEngine.allCases) func reportsAreKeptOfCredentialsThatExist(_ engine: StorageEngine)
    async throws
  {
    let room = try await StorageFixture(engine)
    let desk = try await room.storage.createHostCredential(
      named: "desk", host: "desk", of: room.application.id, at: room.now)
    #expect(try await room.storage.computers(ComputerSearch(), at: room.now).first?.report == nil)
    for version in [3, 4] as [Int64] {
      try await room.storage.record([
        HostReport(credential: "gone", software: "1", listVersion: 1),
        HostReport(credential: desk.id, software: "0.9", listVersion: version),
      ])
      let found = try #require(try await room.storage.computers(ComputerSearch(), at: room.now).first)
      #expect(found.report == HostReport(credential: desk.id, software: "0.9", listVersion: version))
    }
    for (mark, former) in [("a1", nil), ("b1", "a1"), ("a1", nil)] as [(String, String?)] {
      _ = try await room.storage.record(
        ComputerMarkSighting(
          credential: desk.id, mark: mark, former: former, address: mark == "a1" ? "192.0.2.1" : "192.0.2.2",
          signedAt: 0,
          at: room.now))
    }
    let copied = ComputerSearch(isCopied: true)
    let copy = try #require(try await room.storage.computers(copied, at: room.now).first?.copy)
    #expect(Set([copy.address, copy.otherAddress]) == ["192.0.2.1", "192.0.2.2"])
    #expect(try await room.storage.settleComputer(named: "desk", of: "shop", at: room.now))
    #expect(try await room.storage.computers(copied, at: room.now).isEmpty)
  }

  @Test func reportsThatAreNotStoredWaitForTheNextTime() async throws {
    let fixture = try await Fixture()
    let desk = try await computer(fixture)
    let storage = LosingStorage(fixture.service.core.storage, losing: -1, .before)
    let reports = HostReports()
    reports.note(HostReport(credential: desk.id, software: "1", listVersion: 1))
    storage.setDown(true)
    await #expect(throws: LosingStorage.ConnectionLost.self) { try await reports.store(in: storage) }
    storage.setDown(false)
    try await reports.store(in: storage)
    #expect(try await storage.computers(ComputerSearch(), at: fixture.clock.now).first?.report?.software == "1")
  }

  @Test func aCopyIsNamedWithBothAddressesAndSettled() async throws {
    let fixture = try await Fixture()
    let storage = fixture.service.core.storage
    let desk = try await computer(fixture)
    for (mark, former, address) in [("a1", nil, "192.0.2.1"), ("b1", "a1", "192.0.2.2"), ("a1", nil, "192.0.2.1")]
      as [(String, String?, String)]
    {
      _ = try await storage.record(
        ComputerMarkSighting(
          credential: desk.id, mark: mark, former: former, address: address, signedAt: 0, at: fixture.clock.now))
    }
    let path = "/application/\(fixture.application.id)/credential/\(desk.id)/settle"
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    let page = await visitor.get("/joins?copied=on").text
    #expect(page.contains("192.0.2.1 and 192.0.2.2, since <time") && page.contains(path))
    #expect(await visitor.post(path, [:]).status == 303)
    #expect(!(await visitor.get("/joins").text.contains("192.0.2.2")))
    #expect(await visitor.post(path, [:]).status == 409)
    let entry = try await storage.newestAuditEntries(before: nil, limit: 9).first { $0.event == "computer settled" }
    #expect(entry?["administrator"] == "ada" && entry?["approval"] != nil)
  }

  private let order = ["uses": "2", "days": "3", "group": "lab"]

  private func code(_ reply: ServiceReply) throws -> JoinCode {
    let text = try #require(reply.text.firstMatch(of: /iampassctl join https:\/\/iampass.test (IJ1[A-Za-z0-9_-]+)/)).1
    return try #require(JoinCode(String(text)))
  }

  @Test func aCodeIsMadeUsedListedAndRevoked() async throws {
    let fixture = try await Fixture()
    let storage = fixture.service.core.storage
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    var fields = order
    fields["application"] = fixture.application.id
    fields["unattended"] = "on"
    let made = try code(await visitor.post("/joins", fields))
    #expect(made.digest == Array(repeating: 7, count: 32))
    let secret = Secret(Base64.encode(Array(repeating: 9, count: 24)))
    func join(_ name: String) async -> Int {
      let body = JoinRequest(code: made.secret, name: name, secret: secret).encoded()
      return await fixture.respond(
        ServiceRequest(method: "POST", target: "/join", authority: Fixture.authority, body: body, peer: "192.0.2.7")
      ).status
    }
    #expect(await join("desk-7") == 200)
    let stored = try #require(try await storage.joinCodes().first)
    #expect((stored.code.uses, stored.code.group, stored.code.isUnattended) == (2, "lab", true))
    let list = await visitor.get("/joins").text
    #expect(list.contains("1 of 2") && list.contains("desk-7") && !list.contains(made.exposedText))
    let page = await visitor.get("/joins/\(stored.code.id)").text
    #expect(page.contains("desk-7") && page.contains("192.0.2.7") && page.contains("joined"))
    #expect(await visitor.post("/joins/\(stored.code.id)/revoke", [:]).status == 303)
    #expect(await join("desk-8") == 403)
    #expect(await visitor.get("/joins/nothing").status == 404)
    let entries = try await storage.newestAuditEntries(before: nil, limit: 20)
    for event in ["join code made", "join code revoked"] {
      #expect(entries.first { $0.event == event }?["administrator"] == "ada", "\(event)")
    }
  }

  @Test(arguments: [("uses", "0"), ("uses", "x"), ("days", "367"), ("group", "a b"), ("application", "nobody")])
  func aBadOrderMakesNoCode(_ name: String, _ value: String) async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    var fields = order
    fields["application"] = fixture.application.id
    fields[name] = value
    #expect([400, 404].contains(await visitor.post("/joins", fields).status))
    #expect(try await fixture.service.core.storage.joinCodes().isEmpty)
  }

  /// A computer with a credential of theirs could ask administrators' phones.
  @Test func noComputerJoinsTheAdministrators() async throws {
    let fixture = try await Fixture()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    var fields = order
    fields["application"] = try await fixture.service.core.storage.administratorsApplication()
    #expect(fields["application"] != nil)
    #expect(await visitor.post("/joins", fields).reason == "OWN_APPLICATION")
    #expect(!(await visitor.get("/joins").text.contains("<option value=\"\(fields["application"] ?? "")\">")))
  }

  @Test func aServiceBehindAProxySaysWhereCodesAreMade() async throws {
    let fixture = try await Fixture()
    let core = fixture.service.core
    let other = SignInService(on: core.storage, publicURL: nil, logger: core.logger)
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let body = "token=\(visitor.token ?? "")&application=\(fixture.application.id)&uses=1&days=1&group="
    let reply = await other.respond(
      to: ServiceRequest(
        method: "POST", target: "/console/joins", authority: Fixture.authority,
        headers: [("Cookie", visitor.cookie ?? ""), ("Origin", Fixture.origin)], body: Array(body.utf8)))
    #expect(reply.status == 409 && reply.text.contains("join-code create"))
    #expect(try await core.storage.joinCodes().isEmpty)
  }
}
