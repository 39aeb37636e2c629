import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// Sessions whose time has come: what it costs to end them must not grow with those that live.
@Suite struct StorageOverdueTests {
  @Test(arguments: StorageEngine.allCases)
  func manyEndInPortionsTheLongestOverdueFirst(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    var started: [String] = []
    for number in 1...5 {
      started.append(try await room.started(room.ask(host: "web-\(number)")).id)
      room.clock.advance(seconds: 1)
    }
    room.clock.advance(seconds: SessionLifecycle.answerTime)
    var ended: [[String]] = []
    var place: OverdueCursor?
    repeat {
      let portion = try await room.endOverdue(after: place, limit: 2)
      ended.append(portion.ended.map(\.id))
      place = portion.next
    } while place != nil
    #expect(ended == [Array(started[..<2]), Array(started[2..<4]), [started[4]]])
  }

  /// The index knows the deadline in SQL's words, and the rules in Swift's.
  @Test(
    arguments: StorageEngine.allCases,
    [
      (duration: 3_600, approves: false, collects: false, lives: SessionLifecycle.answerTime),
      (3_600, true, false, SessionLifecycle.collectionTime), (30, true, false, 30), (31, true, false, 30),
      (10, true, false, 10), (10, true, true, 10), (3_600, true, true, 3_600),
    ] as [(duration: Int64, approves: Bool, collects: Bool, lives: Int64)])
  func eachEndsAtItsDeadlineAndNotBefore(
    _ engine: StorageEngine, _ life: (duration: Int64, approves: Bool, collects: Bool, lives: Int64)
  ) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.started(room.ask(duration: life.duration))
    if life.approves { _ = try await room.answer(session.id, .approve, by: phone).get() }
    if life.collects { _ = try await room.storage.collect(session.id, at: room.now) }
    room.clock.advance(seconds: life.lives - 1)
    #expect(try await room.endOverdue().ended.isEmpty)
    room.clock.advance(seconds: 1)
    #expect(try await room.endOverdue().ended.map(\.id) == [session.id])
    #expect(try await room.endOverdue().ended.isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRowThatCannotBeReadStopsNoOther(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let bad = try await room.started(room.ask(host: "web-1"))
    room.clock.advance(seconds: 1)
    let good = try await room.started(room.ask(host: "web-2"))
    try await room.execute("UPDATE session SET method = 'telepathy' WHERE id = $1", bad.id)
    room.clock.advance(seconds: SessionLifecycle.answerTime)
    let first = try await room.endOverdue(limit: 1)
    #expect(first.ended.isEmpty && first.unreadable == [bad.id])
    let second = try await room.endOverdue(after: first.next, limit: 1)
    #expect(second.ended.map(\.id) == [good.id] && second.unreadable.isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func theyAreFoundByTheirIndexAmongMany(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let live = try await room.approved(by: phone)
    _ = try await room.storage.collect(live.id, at: room.now)
    let copies = 5_000
    try await room.copy(session: live.id, times: copies)
    let plan = try await room.plan(of: OverduePortion.question, values: ["0", "0", "0", "100"])
    #expect(plan.contains("overdue_session"))
    // Neither all of them, nor all of them put in order.
    #expect(!plan.contains("Seq Scan") && !plan.contains("Sort") && !plan.contains("TEMP B-TREE"))
    room.clock.advance(seconds: 3_600)
    var ended = 0
    var place: OverdueCursor?
    repeat {
      let portion = try await room.endOverdue(after: place, limit: 500)
      ended += portion.ended.count
      place = portion.next
    } while place != nil
    #expect(ended == copies + 1)
  }

  /// SQLite looks for the rows that name a user when the user is deleted.
  @Test func theRowsOfADeletedUserAreFoundByAnIndex() async throws {
    let room = try await StorageFixture(.sqlite)
    for table in ["session", "phone"] {
      let plan = try await room.plan(ofSQLite: "SELECT 1 FROM \(table) WHERE user = 1")
      #expect(plan.contains("INDEX \(table)_user"), "\(plan)")
    }
  }

  /// Who is told that one session has expired causes no work for the others.
  @Test func aStatusEndsItsOwnSessionAlone() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let asked = try await fixture.started("alice")
    let other = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    fixture.clock.advance(seconds: SessionLifecycle.answerTime)
    #expect(try await fixture.status(of: asked).reason == "NOT_ANSWERED")
    let id = try #require(other.name)
    let stored = try #require(await fixture.service.core.storage.session(id))
    #expect(stored.lifecycle.endedAt == nil)
    #expect(try await fixture.status(of: other).reason == "NOT_ANSWERED")
  }

  @Test func aRowThatCannotBeReadIsToldOnceByItsID() {
    let unreadable = UnreadableSessions()
    #expect(unreadable.news(["b", "a"]) == ["a", "b"])
    #expect(unreadable.news(["b", "a"]).isEmpty)
    #expect(unreadable.news(["c", "a"]) == ["c"])
    #expect(unreadable.news([]).isEmpty)
    #expect(unreadable.news(["a"]) == ["a"])
  }
}

extension StorageFixture {
  func execute(_ sql: StaticString, _ value: String) async throws {
    switch storage {
    case let storage as SQLiteStorage: try await storage.write { try $0.execute(sql, value) }
    case let storage as PostgreSQLStorage: try await storage.write { try $0.execute(sql, value) }
    default: throw Thrown()
    }
  }

  /// Copies this session under other ids, without what the triggers do.
  fileprivate func copy(session: String, times: Int) async throws {
    switch storage {
    case let storage as SQLiteStorage:
      try await storage.write { db in
        try db.execute(
          sql: """
            WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?)
            INSERT INTO session (id, token, secret, application, user, source, context, answer_nonce, status,
              started_at, duration, approved_at, collected_at, delivered, delivered_at, reply_secret, method)
            SELECT id || value, token || value, secret, application, user, source, context, answer_nonce, status,
              started_at, duration, approved_at, collected_at, delivered, delivered_at, reply_secret, method
            FROM session, n WHERE id = ?
            """, arguments: [times, session])
        try db.execute(sql: "ANALYZE")
      }
    default:
      let connection = try connection()
      try connection.run(script: "ALTER TABLE session DISABLE TRIGGER USER")
      try connection.run([
        PostgreSQLCall(
          """
          INSERT INTO session (id, token, secret, application, user_id, source, context, answer_nonce, status,
            started_at, duration, approved_at, collected_at, delivered, delivered_at, reply_secret, method)
          SELECT id || value, token || value, secret, application, user_id, source, context, answer_nonce, status,
            started_at, duration, approved_at, collected_at, delivered, delivered_at, reply_secret, method
          FROM session, generate_series(1, $1) AS value WHERE id = $2
          """, .integer(Int64(times)), .text(session))
      ])
      try connection.run(script: "ALTER TABLE session ENABLE TRIGGER USER; ANALYZE session")
    }
  }

  /// How the engine would find the rows.
  fileprivate func plan(of question: StaticString, values: [String]) async throws -> String {
    var sql = engine == .sqlite ? SQLiteDialect.statement(question) : "\(question)"
    for (index, value) in values.enumerated() {
      sql = sql.replacing("\(engine == .sqlite ? "?" : "$")\(index + 1)", with: value)
    }
    if engine == .sqlite { return try await plan(ofSQLite: sql) }
    let connection = try connection()
    try connection.run(
      script: """
        CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
        BEGIN RETURN QUERY EXECUTE 'EXPLAIN ' || statement; END $$
        """)
    let lines: [String] = try connection.run([PostgreSQLCall("SELECT plan($1) AS line", .text(sql))])[0].map {
      try $0.get("line")
    }
    return lines.joined(separator: "\n")
  }

  fileprivate func plan(ofSQLite sql: String) async throws -> String {
    guard let storage = storage as? SQLiteStorage else { throw Thrown() }
    return try await storage.read { db in
      let steps = try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql)
      return steps.map { $0["detail"] as String? ?? "" }.joined(separator: "\n")
    }
  }

  private func connection() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
  }
}
