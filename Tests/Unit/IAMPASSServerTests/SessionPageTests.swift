import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The console lists live sessions in pages, and a search of them reads no more than it says.
@Suite struct SessionPageTests {
  /// The hosts of all pages, from the newest on, and how many pages there were.
  private func hosts(_ room: StorageFixture, _ search: SessionFilter) async throws -> ([String], Int) {
    var filter = search
    var found: [String] = []
    var pages = 0
    repeat {
      let page = try await room.storage.liveSessions(matching: filter)
      found += page.sessions.compactMap(\.session.context.host)
      filter.start = page.further
      pages += 1
    } while filter.start != nil && pages < 100
    return (found, pages)
  }

  /// Most of them were approved in the same millisecond.
  @Test(arguments: StorageEngine.allCases)
  func eachSessionIsOnOnePage(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    for number in 0..<7 {
      _ = try await room.approved(by: phone, host: "web-\(number)")
      if number == 4 { room.clock.advance(seconds: 1) }
    }
    let newestFirst = (0..<7).reversed().map { "web-\($0)" }
    #expect(try await hosts(room, SessionFilter(length: 3)) == (newestFirst, 3))
    #expect(try await hosts(room, SessionFilter(length: 7)) == (newestFirst, 1))
    #expect(try await hosts(room, SessionFilter(until: room.now, length: 2)).0 == Array(newestFirst.dropFirst(2)))
    #expect(try await hosts(room, SessionFilter(from: room.now, length: 1)).0 == Array(newestFirst.prefix(2)))
    // A page of an address may begin anywhere.
    for start in ["", "nothing", "\0"] {
      let page = try await room.storage.liveSessions(matching: SessionFilter(start: start))
      #expect(page.sessions.count == 7 && page.further == nil)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aSearchGoesOnWhereItStopped(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    for number in 0..<7 { _ = try await room.approved(by: phone, host: "web-\(number)") }
    let search = SessionFilter(computer: "WEB-0", reach: 3)
    let first = try await room.storage.liveSessions(matching: search)
    #expect(first.sessions.isEmpty && first.further != nil)
    #expect(try await hosts(room, search) == (["web-0"], 3))
    #expect(try await hosts(room, SessionFilter(user: "alice", length: 2, reach: 3)).0.count == 7)
    // Without a search, the length alone bounds a page.
    #expect(try await hosts(room, SessionFilter(reach: 3)).1 == 1)
  }

  /// A page goes on at a session that has ended meanwhile.
  @Test(arguments: StorageEngine.allCases)
  func theNextPageBeginsAtItsPlace(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    for number in 0..<3 { _ = try await room.approved(by: phone, host: "web-\(number)") }
    let first = try await room.storage.liveSessions(matching: SessionFilter(length: 1))
    let place = try #require(first.further)
    _ = try await room.storage.logOut(place, at: room.now)
    let second = try await room.storage.liveSessions(matching: SessionFilter(start: place, length: 1))
    #expect(second.sessions.map(\.session.context.host) == ["web-0"])
    #expect(second.further == nil)
  }

  @Test func theConsoleHasALinkToOlderSessions() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let before = await visitor.get("/sessions").text
    #expect(before.contains("Nobody is signed in.") && !before.contains("Older sessions"))
    try await fixture.service.storage.write { [shop = fixture.application.id] db in
      try db.execute(
        sql: """
          WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 201)
          INSERT INTO session (id, token, secret, application, source, context, answer_nonce, status, started_at, duration,
            approved_at, delivered, delivered_at, reply_secret)
          SELECT 'one-' || n, 't ' || n, 's', ?, 'x', '{}', 'n', 'active', n, 60, n, '', n, 'r' FROM counted
          """, arguments: [shop])
    }
    let page = await visitor.get("/sessions?result=active").text
    #expect(page.contains("Older sessions</a>") && page.contains("/sessions?result=active&amp;start=one-1\""))
    #expect(await !visitor.get("/sessions?start=one-1").text.contains("Older sessions"))
  }
}
