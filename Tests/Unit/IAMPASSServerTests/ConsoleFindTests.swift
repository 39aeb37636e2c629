import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What the console's lists find: by each engine, and on the pages.
@Suite struct ConsoleFindTests {
  private func names(_ entries: [AuditEntry]) -> [String] { entries.map { "\($0.event) \($0["host"] ?? "")" } }

  @Test(arguments: StorageEngine.allCases)
  func theAuditIsFilteredByUserComputerResultAndTime(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    _ = try await room.approved(by: phone, host: "web-1")
    let session = try await room.started(room.ask(host: "Desk_%7"))
    _ = try await room.answer(session.id, .deny, by: phone).get()
    let storage = room.storage
    func found(_ filter: AuditFilter) async throws -> [String] {
      names(try await storage.auditEntries(matching: filter, before: nil, limit: 100).entries)
    }
    #expect(try await found(AuditFilter(computer: "DESK_%")) == ["denied Desk_%7", "asked Desk_%7"])
    #expect(try await found(AuditFilter(computer: "desk%7")).isEmpty)
    #expect(try await found(AuditFilter(result: .approved)) == ["approved web-1"])
    #expect(try await found(AuditFilter(user: "alice", result: .denied)) == ["denied Desk_%7"])
    #expect(try await found(AuditFilter(user: "bob", result: .denied)).isEmpty)
    let day = room.clock.now.day
    #expect(
      try await found(AuditFilter(result: .denied, from: UnixTime(day: day), until: UnixTime(day: day + 1))).count == 1)
    #expect(try await found(AuditFilter(result: .denied, from: UnixTime(day: day + 1))).isEmpty)
    #expect(try await found(AuditFilter(result: .denied, until: UnixTime(day: day))).isEmpty)
    #expect(try await found(AuditFilter(result: .changes)).isEmpty)
    let counts = try await storage.signInCounts(since: day)
    #expect(counts == [.init(day: day, result: .approved, count: 1), .init(day: day, result: .denied, count: 1)])
  }

  @Test(arguments: StorageEngine.allCases)
  func aSearchOfTheAuditGoesOnWhereItStopped(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    for number in 0..<6 { _ = try await room.approved(by: phone, host: number == 0 ? "first" : "web-1") }
    let all = try await room.storage.auditEntries(after: 0, limit: 1_000)
    var found: [String] = []
    var place: Int64?
    var pages = 0
    repeat {
      let page = try await room.storage.auditEntries(
        matching: AuditFilter(computer: "first", reach: 5), before: place, limit: 100)
      found += names(page.entries)
      place = page.further
      pages += 1
    } while place != nil && pages < 100
    #expect(found == ["approved first", "asked first"])
    #expect(pages == (all.count + 4) / 5)
    // Days bring the search to its place, however much came since.
    let day = room.clock.now.day
    room.clock.advance(seconds: 3 * 86_400)
    for _ in 0..<6 { _ = try await room.approved(by: phone, host: "web-1") }
    let then = AuditFilter(computer: "first", until: UnixTime(day: day + 1), reach: Int64(all.count))
    #expect(
      names(try await room.storage.auditEntries(matching: then, before: nil, limit: 100).entries)
        == ["approved first", "asked first"])
    let now = AuditFilter(computer: "first", from: UnixTime(day: day + 3), reach: 12)
    let page = try await room.storage.auditEntries(matching: now, before: nil, limit: 100)
    #expect(page.entries.isEmpty && page.further == nil)
    for place in [Int64.min, -1, 0, Int64.max] {
      _ = try await room.storage.auditEntries(matching: AuditFilter(), before: place, limit: 100)
    }
  }

  /// However many entries came since: the front page shows them.
  @Test(arguments: StorageEngine.allCases)
  func allRefusalsAreFoundWithoutASearch(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    for host in ["web-1", "web-2"] {
      let refused = try await room.started(room.ask(host: host))
      _ = try await room.answer(refused.id, .deny, by: phone).get()
    }
    for _ in 0..<6 { _ = try await room.approved(by: phone, host: "web-3") }
    func page(_ filter: AuditFilter, before id: Int64? = nil) async throws -> AuditPage {
      try await room.storage.auditEntries(matching: filter, before: id, limit: 1)
    }
    let refusals = AuditFilter(result: .denied, reach: 3)
    let first = try await page(refusals)
    #expect(names(first.entries) == ["denied web-2"] && first.entries.first?.known?.name == "Alice")
    let second = try await page(refusals, before: first.further)
    #expect(names(second.entries) == ["denied web-1"])
    #expect(try await page(refusals, before: second.further).entries.isEmpty)
    // A search of them is one of all entries.
    let search = try await page(AuditFilter(user: "alice", result: .denied, reach: 3))
    #expect(search.entries.isEmpty && search.further != nil)
  }

  @Test(arguments: StorageEngine.allCases) func sessionsAreFiltered(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    for host in ["web-1", "desk-7"] { _ = try await room.approved(by: phone, host: host) }
    func count(_ filter: SessionFilter) async throws -> Int {
      try await room.storage.liveSessions(matching: filter).sessions.count
    }
    #expect(try await count(SessionFilter(user: "ALICE")) == 2)
    #expect(try await count(SessionFilter(computer: "desk")) == 1)
    #expect(try await count(SessionFilter(user: "bob")) == 0)
    #expect(try await count(SessionFilter(until: room.now)) == 0)
    #expect(try await count(SessionFilter(from: room.now, until: room.now.advanced(seconds: 1))) == 2)
    #expect(try await count(SessionFilter(from: room.now.advanced(seconds: 1))) == 0)
  }

  @Test(arguments: StorageEngine.allCases)
  func computersAreFoundInPagesAndBySilence(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for number in 0..<60 {
      let name = "desk-\(100 + number)"
      _ = try await room.storage.createHostCredential(
        named: name, host: name, of: room.application.id, at: room.now)
    }
    var search = ComputerSearch()
    let first = try await room.storage.computers(search, at: room.now)
    #expect(first.count == ComputerSearch.pageLength && first.first?.credential.host == "desk-100")
    let last = try #require(first.last).credential
    search.after = (last.name, last.id)
    #expect(try await room.storage.computers(search, at: room.now).map(\.credential.host).last == "desk-159")
    #expect(try await room.storage.computers(ComputerSearch(text: "K-12"), at: room.now).count == 10)
    let silent = ComputerSearch(silentSince: room.now)
    #expect(try await room.storage.computers(silent, at: room.now).isEmpty)
    room.clock.advance(seconds: 90_000)
    #expect(
      try await room.storage.computers(ComputerSearch(text: "desk-12", silentSince: room.now), at: room.now).count == 10
    )
  }

  @Test(arguments: StorageEngine.allCases)
  func silentComputersComeInPagesTheLongestSilentFirst(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    var made: [String] = []
    for number in 0..<60 {
      // Their names have the opposite order.
      let name = "desk-\(199 - number)"
      made.append(
        try await room.storage.createHostCredential(named: name, host: name, of: room.application.id, at: room.now).id)
      if number == 29 { room.clock.advance(seconds: 86_400) }
    }
    room.clock.advance(seconds: 3 * 86_400)
    var nonce = SignedNonce(
      owner: "host:a", value: "7", forgetAt: room.now.advanced(seconds: SignedNonce.lifetime))
    nonce.credential = made[0]
    #expect(try await room.storage.useNonce(nonce, at: room.now))
    var search = ComputerSearch(silentSince: room.now.advanced(seconds: -86_400))
    let first = try await room.storage.computers(search, at: room.now).map(\.credential)
    let last = try #require(first.last)
    search.after = (last.name, last.id)
    let second = try await room.storage.computers(search, at: room.now).map(\.credential)
    #expect(first.count == ComputerSearch.pageLength)
    let expected = Array(made[1..<30].reversed()) + Array(made[30...].reversed())
    #expect((first + second).map(\.id) == expected)
  }

  @Test(arguments: StorageEngine.allCases, [false, true])
  func aSearchOfComputersGoesOnWhereItStopped(_ engine: StorageEngine, _ areSilent: Bool) async throws {
    let room = try await StorageFixture(engine)
    for number in 0..<7 {
      let name = "desk-\(number)"
      _ = try await room.storage.createHostCredential(named: name, host: name, of: room.application.id, at: room.now)
    }
    room.clock.advance(seconds: 3 * 86_400)
    var search = ComputerSearch(text: "K-5", silentSince: areSilent ? room.now : nil, reach: 3)
    var found: [String] = []
    var pages = 0
    repeat {
      let page = try await room.storage.computerPage(search, at: room.now)
      found += page.computers.map(\.credential.host)
      search.after = page.further
      pages += 1
    } while search.after != nil && pages < 100
    #expect(found == ["desk-5"] && pages == 3)
    // Without a text, the length alone bounds a page.
    let all = try await room.storage.computerPage(
      ComputerSearch(silentSince: areSilent ? room.now : nil, reach: 3), at: room.now)
    #expect(all.computers.count == 7 && all.further == nil)
  }

  @Test func theConsoleSaysHowFarASearchOfComputersGoes() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    try await fixture.service.storage.write { [shop = fixture.application.id] db in
      try db.execute(
        sql: """
          WITH RECURSIVE counted (n) AS (SELECT 10000 UNION ALL SELECT n + 1 FROM counted WHERE n < 15000)
          INSERT INTO host_credential (id, application, name, host, secret, created_at)
          SELECT 'one-' || n, ?, 'desk-' || n, 'desk-' || n, 's', 1 FROM counted
          """, arguments: [shop])
    }
    let page = await visitor.get("/joins?q=desk-15000").text
    #expect(page.contains("None among these computers.") && page.contains("a search looks through 5000 computers"))
    let next = await visitor.get("/joins?q=desk-15000&after=desk-14999&id=one-14999").text
    #expect(page.contains("q=desk-15000&amp;after=desk-14999&amp;id=one-14999\""))
    #expect(next.contains(">desk-15000</td>") && !next.contains("a search looks through"))
  }

  @Test(arguments: StorageEngine.allCases) func usersAreFoundByNameAndGroup(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for number in 0..<120 {
      let groups = number % 10 == 0 ? ["lab"] : []
      _ = try await room.storage.listUser(UserListOrder(application: "shop", name: "user\(number)", groups: groups))
    }
    func page(_ text: String, after: Int64 = 0) async throws -> [UserSummary] {
      try #require(
        try await room.storage.application(room.application.id, usersAfter: after, matching: text)
      ).users
    }
    #expect(try await page("LAB").count == 12)
    #expect(try await page("user11").map(\.known.name).first == "user11")
    let first = try await page("")
    #expect(first.count == UserSummary.pageLength)
    let last = try #require(first.last).id
    #expect(try await page("", after: last).first?.known.name == "user50")
    let rest = try await room.storage.application(room.application.id, usersAfter: last + 50)
    #expect(rest?.users.count == 20 && rest?.usersFurther == nil)
    let full = try await room.storage.application(room.application.id, usersAfter: 0)
    #expect(full?.usersFurther == last)
  }

  @Test func theConsoleSaysHowFarASearchOfUsersGoes() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    try await fixture.service.storage.write { [shop = fixture.application.id] db in
      try db.execute(
        sql: """
          WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 5001)
          INSERT INTO user (application, name) SELECT ?, 'token-' || n FROM counted
          """, arguments: [shop])
    }
    let page = await visitor.get("/application/\(fixture.application.id)?q=token-5001").text
    #expect(page.contains("None among these users.") && page.contains("a search looks through 5000 users"))
    let place = try #require(page.firstMatch(of: #/q=token-5001&amp;after=([0-9]+)/#)?.1)
    let next = await visitor.get("/application/\(fixture.application.id)?q=token-5001&after=\(place)").text
    #expect(next.contains("token-5001</") && !next.contains("a search looks through"))
  }

  @Test func aSearchOfUsersGoesOnWhereItStopped() async throws {
    let fixture = try await Fixture()
    for number in 0..<7 { try await fixture.addUser("user\(number)") }
    func page(after id: Int64) async throws -> ([String?], Int64?) {
      try await fixture.service.storage.read { [shop = fixture.application.id] db in
        let page = try UserSummary.page(of: shop, after: id, matching: "user5", reach: 3, in: db)
        return (page.users.map(\.known.name), page.further)
      }
    }
    #expect(try await page(after: 0) == ([], 3))
    #expect(try await page(after: 3) == (["user5"], 6))
    #expect(try await page(after: 6) == ([], nil))
    // A search does not read other applications' users.
    let storage = fixture.service.storage
    let other = try await storage.createApplication(named: "bank", matchCodes: .off, at: fixture.clock.now)
    _ = try await storage.addUsers((0..<9).map { "other\($0)" }, to: other.id)
    try await fixture.addUser("user50")
    #expect(try await page(after: 6) == (["user50"], nil))
    for place in [Int64.min, Int64.max] { _ = try await page(after: place) }
  }

  @Test func theFrontPageSaysWhatToLookAt() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    try await phone.approveOnly()
    _ = try await fixture.service.core.storage.createHostCredential(
      named: "old", host: "<old>", of: fixture.application.id, at: fixture.clock.now)
    fixture.clock.advance(seconds: 90_000)
    let page = try await ConsoleVisitor.admitted(to: fixture).get("").text
    #expect(page.contains("<svg class=\"chart\" role=\"img\""))
    #expect(page.contains("1 approved, 0 denied, 0 not answered"))
    #expect(page.contains("&lt;old&gt;") && !page.contains("<old>"))
    // The same numbers for whoever does not see the picture.
    #expect(page.contains("data-name=\"approved\">1</td>"))
  }

  @Test func daysOfASearchAreTheBrowsersIfItTellsThem() async throws {
    let fixture = try await Fixture()
    let day = UnixTime(day: fixture.clock.now.day + 1)
    fixture.clock.advance(seconds: day.seconds + 3_600 - fixture.clock.now.seconds)
    _ = try await fixture.service.storage.createHostCredential(
      named: "desk-7", host: "desk-7", of: fixture.application.id, at: fixture.clock.now)
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    func hour(_ hours: Int64) -> String { day.advanced(seconds: hours * 3_600).text }
    let (today, yesterday) = (hour(0).prefix(10), hour(-24).prefix(10))
    // One o'clock in UTC. Two hours west of it, the day before has not ended.
    for (query, isFound) in [
      ("from=\(today)", true), ("from=\(today)&from_at=\(hour(2))", false), ("to=\(yesterday)", false),
      ("to=\(yesterday)&to_at=\(hour(2))", true), ("from=\(today)&from_at=", true),
      // No time zone has such days.
      ("from=\(today)&from_at=\(hour(15))", true), ("to=\(yesterday)&to_at=\(hour(15))", false),
      ("from_at=\(hour(2))", true),
    ] {
      let page = await visitor.get("/audit?" + query)
      #expect(page.status == 200)
      #expect(page.text.contains("desk-7") == isFound, "\(query)")
    }
  }

  @Test func theNextPageOfASearchKeepsItsDays() async throws {
    let fixture = try await Fixture()
    for number in 0..<101 {
      _ = try await fixture.service.storage.createHostCredential(
        named: "desk-\(number)", host: "desk", of: fixture.application.id, at: fixture.clock.now)
    }
    let day = fixture.clock.now.text.prefix(10)
    let page = try await ConsoleVisitor.admitted(to: fixture).get("/audit?from=\(day)&from_at=\(day)T00:00:00Z").text
    #expect(page.contains("from=\(day)&amp;from_at=\(day)T00%3A00%3A00Z&amp;before="))
  }

  @Test func aSearchIsTextAndNothingElse() async throws {
    let visitor = try await ConsoleVisitor.admitted(to: try await Fixture())
    for path in ["/audit", "/sessions", "/joins"] {
      for text in ["%22%3E%3Cscript%3E", "%00", "'%20OR%201=1", "%25"] {
        let reply = await visitor.get(path + "?user=\(text)&computer=\(text)&q=\(text)&from=x&to=2026-99-99&result=x")
        #expect(reply.status == 200, "\(path) \(text)")
        #expect(!reply.text.contains("\"><script>"))
      }
    }
  }
}
