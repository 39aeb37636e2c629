import GRDB
import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// The counts of the console's chart are kept beside the audit, and not read from it.
@Suite struct SignInCountTests {
  private static let day: Int64 = 86_400

  @Test(arguments: StorageEngine.allCases)
  func eachResultCountsOnItsDay(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let first = room.clock.now.day
    for host in ["web-1", "web-2"] { _ = try await room.approved(by: phone, host: host) }
    let refused = try await room.started(room.ask(host: "web-3"))
    _ = try await room.answer(refused.id, .deny, by: phone).get()
    room.clock.advance(seconds: Self.day)
    _ = try await room.approved(by: phone, host: "web-4")
    _ = try await room.started(room.ask(host: "web-5"))
    room.clock.advance(seconds: 600)
    #expect(try await room.endOverdue().ended.contains { $0.lifecycle.ending == .notAnswered })
    let second: [SignInCount] = [
      .init(day: first + 1, result: .approved, count: 1), .init(day: first + 1, result: .unanswered, count: 1),
    ]
    #expect(try await room.storage.signInCounts(since: first + 1) == second)
    let both: [SignInCount] = [
      .init(day: first, result: .approved, count: 2), .init(day: first, result: .denied, count: 1),
    ]
    #expect(try await room.storage.signInCounts(since: first) == both + second)
    #expect(try await room.storage.signInCounts(since: first + 2).isEmpty)
  }

  /// A day is the wall clock's, as an entry's date is.
  @Test(arguments: StorageEngine.allCases)
  func aSignInCountsOnTheDayOfItsEntry(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    try await room.setWallClockAhead(milliseconds: 3 * UnixTime.millisecondsOfDay)
    _ = try await room.approved(by: phone)
    let entry = try #require(try await room.storage.auditEntries(after: 0, limit: 100).last { $0.event == "approved" })
    #expect(entry.at.day == room.now.day + 3)
    #expect(
      try await room.storage.signInCounts(since: 0) == [.init(day: entry.at.day, result: .approved, count: 1)])
  }

  @Test(arguments: StorageEngine.allCases)
  func aCountIsForgottenWithTheLastEntryOfItsDay(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    _ = try await room.approved(by: phone)
    room.clock.advance(seconds: 400 * Self.day - 60)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await room.storage.signInCounts(since: 0).map(\.count) == [1])
    room.clock.advance(seconds: 120)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await room.storage.signInCounts(since: 0).isEmpty)
  }

  /// A database from before has no counts: those of the chart's days are made once.
  @Test(arguments: StorageEngine.allCases)
  func whatTheAuditHasOfTheChartsDaysIsCounted(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    _ = try await room.approved(by: phone, host: "web-1")
    room.clock.advance(seconds: 21 * Self.day)
    let day = room.clock.now.day
    for host in ["web-2", "web-3"] { _ = try await room.approved(by: phone, host: host) }
    try await room.forgetCounts()
    let storage = try room.opened()
    #expect(try await storage.signInCounts(since: 0) == [.init(day: day, result: .approved, count: 2)])
    _ = try await room.approved(by: phone, host: "web-4")
    #expect(try await storage.signInCounts(since: 0) == [.init(day: day, result: .approved, count: 3)])
  }

  // MARK: An upgrade beside a server at work

  /// The counting of what was before may take long: it has not been committed yet.
  @Test func aSignInDoesNotWaitForTheCountOfThoseBefore() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    _ = try await room.approved(by: phone, host: "web-1")
    let day = room.clock.now.day
    try await room.forgetCounts()
    let connection = try room.connection()
    // The sign-in may take longer beside other tests than a transaction may wait.
    try connection.run([PostgreSQLCall("SET idle_in_transaction_session_timeout = 0")])
    let parts = PostgreSQLMigration.signInCounts.parts
    try #require(parts.count == 2)
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try connection.run(script: parts[0].sql)
    try connection.commit()
    _ = try await room.approved(by: phone, host: "web-2")
    room.clock.advance(seconds: Self.day)
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try connection.run(script: parts[1].sql)
    do { _ = try await room.approved(by: phone, host: "web-3") } catch {
      connection.rollBack()
      throw error
    }
    try connection.commit()
    let counts: [SignInCount] = [
      .init(day: day, result: .approved, count: 2), .init(day: day + 1, result: .approved, count: 1),
    ]
    #expect(try await room.storage.signInCounts(since: 0) == counts)
  }

  @Test func anUpgradeThatWasInterruptedCountsEachSignInOnce() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    _ = try await room.approved(by: phone, host: "web-1")
    let day = room.clock.now.day
    try await room.forgetCounts()
    let connection = try room.connection()
    let first = try #require(PostgreSQLMigration.signInCounts.parts.first)
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try connection.run(script: first.sql)
    try connection.commit(after: [
      PostgreSQLCall("INSERT INTO schema_migration (name, least) VALUES ($1, 1)", .text(first.name))
    ])
    _ = try await room.approved(by: phone, host: "web-2")
    let storage = try room.opened()
    #expect(try await storage.signInCounts(since: 0) == [.init(day: day, result: .approved, count: 2)])
    let left = try connection.run([
      PostgreSQLCall("SELECT count(*) FROM schema_migration WHERE name = $1", .text(first.name)),
      PostgreSQLCall("SELECT count(*) FROM pg_class WHERE oid = to_regclass('uncounted_sign_ins')"),
    ])
    let counts = try left.map { try $0.first?.integer(0) }
    #expect(counts == [0, 0])
  }

  /// The parts have a text of their own.
  @Test func anUpgradedDatabaseCountsAsANewOneDoes() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try room.connection()
    let form = [
      PostgreSQLCall(
        """
        SELECT pg_get_functiondef('count_sign_in'::regproc) || pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgname = 'sign_ins_counted' AND tgrelid = 'audit'::regclass
        """),
      PostgreSQLCall(
        """
        SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull, ', ' ORDER BY attnum)
          || (SELECT string_agg(pg_get_constraintdef(oid), ', ' ORDER BY conname) FROM pg_constraint
            WHERE conrelid = 'sign_in_count'::regclass)
        FROM pg_attribute WHERE attrelid = 'sign_in_count'::regclass AND attnum > 0
        """),
    ]
    let new = try connection.run(form).map { try $0.first?.text(0) }
    try await room.forgetCounts()
    _ = try room.opened()
    let upgraded = try connection.run(form).map { try $0.first?.text(0) }
    #expect(!new.contains(nil))
    #expect(upgraded == new)
  }
}

extension StorageFixture {
  fileprivate func connection() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
  }

  /// The database has the wall clock so far ahead of service time.
  fileprivate func setWallClockAhead(milliseconds: Int64) async throws {
    if let storage = storage as? SQLiteStorage {
      try await storage.write { db in
        try db.execute(sql: "UPDATE service_clock SET unix_time = time + ?", arguments: [milliseconds])
      }
    } else {
      try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder))).run([
        PostgreSQLCall("UPDATE service_clock SET unix_time = time + $1", .integer(milliseconds))
      ])
    }
  }

  /// Takes the database back to where it was before sign-ins were counted.
  fileprivate func forgetCounts() async throws {
    try await undo(
      "sign-in counts",
      sqlite: """
        DROP TRIGGER sign_ins_counted;
        DROP TABLE sign_in_count;
        """,
      postgreSQL: """
        DROP FUNCTION count_sign_in CASCADE;
        DROP TABLE sign_in_count;
        """)
  }
}
