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
}

extension StorageFixture {
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
