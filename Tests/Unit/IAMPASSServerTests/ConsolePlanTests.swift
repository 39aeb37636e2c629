import GRDB
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// A page of the console reads what it shows, or what its search says, and not all of a company.
@Suite struct ConsolePlanTests {
  /// The steps of SQLite's plan that read this table.
  private func looks(at table: String, by statement: String) async throws -> [String] {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let steps = try await database.read { try StatementPlanTests.steps(of: statement, $0) }
    return steps.filter { $0.hasPrefix("SCAN \(table)") || $0.hasPrefix("SEARCH \(table) ") }
  }

  private func statement(_ parts: String...) throws -> String {
    let found = try StatementPlanTests.allStatements().filter { one in parts.allSatisfy { one.contains($0) } }
    #expect(found.count == 1, "\(found)")
    return try #require(found.first)
  }

  // MARK: Live sessions

  private func sessionsOfAUser() throws -> String { try statement("AS application_name", "session.user_id = $1") }

  @Test func sqliteFindsTheSessionsOfAUsersPageByTheUser() async throws {
    let found = try await looks(at: "session", by: sessionsOfAUser())
    #expect(found.count == 1 && found.first?.contains("INDEX live_session (user=?)") == true, "\(found)")
  }

  @Test func postgreSQLFindsTheSessionsOfAUsersPageByTheUser() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try StatementPlanTests.explaining(room)
    try Self.fillSessions(connection, of: room)
    let lines = try StatementPlanTests.plan(of: sessionsOfAUser(), connection)
    #expect(lines.contains { $0.contains("Index Cond: (user_id = $1)") }, "\(lines)")
    #expect(!lines.contains { $0.contains("live_session_by_approval") }, "\(lines)")
  }

  /// In their order, so that a page ends when it is full.
  @Test func sqliteReadsAPageOfSessionsInItsOrder() async throws {
    for part in ["AND ($5::text = ''", "LIMIT 1 OFFSET $5"] {
      let found = try await looks(at: "session", by: statement("session", "approved_at <= $1", part))
      #expect(found.count == 1 && found.first?.contains("INDEX live_session_by_approval (") == true, "\(found)")
    }
  }

  @Test func postgreSQLReadsAPageOfSessionsInItsOrder() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try StatementPlanTests.explaining(room)
    try Self.fillSessions(connection, of: room)
    for part in ["AND ($5::text = ''", "LIMIT 1 OFFSET $5"] {
      let lines = try StatementPlanTests.plan(of: statement("session", "approved_at <= $1", part), connection)
      #expect(lines.contains { $0.contains("Scan Backward using live_session_by_approval") }, "\(lines)")
    }
  }

  // MARK: Users

  /// In their order, so that a page ends when it is full, and a search at its bound.
  @Test func sqliteReadsAnApplicationsUsersInTheirOrder() async throws {
    let ids = "SELECT id FROM app_user WHERE application = $1 AND id > $2 ORDER BY id"
    let range = "INDEX user_of_application (application=? AND id>?"
    let statements = [
      try statement(ids, "LIMIT $3"), try statement(ids, "LIMIT 1 OFFSET $3"),
      try statement("app_user.id <= $3", "lower($4::text)"),
    ]
    for one in statements {
      let found = try await looks(at: "user", by: one)
      #expect(found.count == 1 && found.first?.contains(range) == true, "\(found)")
    }
  }

  // MARK: Computers

  /// A search of computers ends at its bound. Its last computer is found by the same indices.
  @Test func sqliteEndsASearchOfComputersAtItsBound() async throws {
    let names = try statement("FROM host_credential", "(name, id) <= ($4::text, $5::text)")
    #expect(
      try await looks(at: "host_credential", by: names)
        == ["SEARCH host_credential USING INDEX computer_by_name ((name,id)>(?,?) AND (name,id)<(?,?))"])
    let silent = try await looks(at: "host_credential", by: statement("(used_day, name, id) <= ($4::bigint"))
    #expect(silent.count == 1 && silent.first?.contains("AND (used_day,name,id)<(?,?,?))") == true, "\(silent)")
    for (part, index) in [("LIMIT 1 OFFSET $3", "computer_by_name"), ("LIMIT 1 OFFSET $4", "silent_computer")] {
      let ends = try await looks(at: "host_credential", by: statement("FROM host_credential", part))
      #expect(ends.count == 1 && ends.first?.contains("INDEX \(index) (") == true, "\(ends)")
    }
  }

  // MARK: What is rare

  @Test func sqliteFindsRefusalsByTheirIndex() async throws {
    let found = try await looks(at: "audit", by: statement("FROM audit WHERE event = 'denied'"))
    #expect(found.count == 1 && found.first?.contains("INDEX refused_entry (id>? AND id<?)") == true, "\(found)")
  }

  @Test func postgreSQLFindsRefusalsByTheirIndex() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try StatementPlanTests.explaining(room)
    try StatementPlanTests.fillAudit(connection)
    let lines = try StatementPlanTests.plan(of: statement("FROM audit WHERE event = 'denied'"), connection)
    #expect(lines.contains { $0.contains("refused_entry") }, "\(lines)")
  }

  /// Those of the page of computers, and those of an application.
  private func copiedComputers() throws -> [String] {
    let join = "FROM host_mark CROSS JOIN host_credential"
    return [try statement(join, "lower($1::text)"), try statement(join, "SELECT host_mark.*")]
  }

  @Test func sqliteFindsCopiedComputersByTheirIndex() async throws {
    for one in try copiedComputers() {
      let marks = try await looks(at: "host_mark", by: one)
      #expect(marks.count == 1 && marks.first?.contains("INDEX copied_computer") == true, "\(marks)")
      let computers = try await looks(at: "host_credential", by: one)
      #expect(computers.count == 1 && computers.first?.contains("(id=?)") == true, "\(computers)")
    }
  }

  @Test func postgreSQLFindsCopiedComputersByTheirIndex() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try StatementPlanTests.explaining(room)
    try connection.run(
      script: "ALTER TABLE host_credential DISABLE TRIGGER USER; ALTER TABLE host_mark DISABLE TRIGGER USER")
    _ = try connection.run([
      PostgreSQLCall(
        """
        INSERT INTO host_credential (id, application, name, host, secret, created_at)
        SELECT 'one ' || n, $1, 'desk ' || n, 'host ' || n, 's', n FROM generate_series(1, 3000) AS n
        """, .text(room.application.id)),
      PostgreSQLCall(
        """
        INSERT INTO host_mark (credential, mark, seen_at, are_both_used)
        SELECT 'one ' || n, '1', n, 0 FROM generate_series(1, 3000) AS n
        """),
    ])
    try connection.run(script: "ANALYZE host_credential; ANALYZE host_mark")
    for one in try copiedComputers() {
      let lines = try StatementPlanTests.plan(of: one, connection)
      #expect(lines.contains { $0.contains("copied_computer") }, "\(lines)")
    }
  }

  /// The planner takes any index of a table that is empty.
  private static func fillSessions(_ connection: PostgreSQLConnection, of room: StorageFixture) throws {
    try connection.run(script: "ALTER TABLE session DISABLE TRIGGER USER")
    _ = try connection.run([
      PostgreSQLCall(
        """
        INSERT INTO session (id, token, secret, application, source, context, answer_nonce, status, started_at, duration,
          approved_at, delivered, delivered_at, reply_secret)
        SELECT 'one ' || n, 't ' || n, 's', $1, 'x', '{}', 'n', 'active', n, 60, n, '', n, 'r'
        FROM generate_series(1, 3000) AS n
        """, .text(room.application.id))
    ])
    try connection.run(script: "ANALYZE session")
  }
}
