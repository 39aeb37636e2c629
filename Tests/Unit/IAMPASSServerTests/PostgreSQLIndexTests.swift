import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// The indices of large tables come to a database that has tables while servers write.
@Suite struct PostgreSQLIndexTests {
  @Test func theIndicesOfSessionsAndOfTheAuditAreBuiltApart() {
    let found = PostgreSQLSchema.migrations.map {
      PostgreSQLScript($0.sql).separatingIndices(of: ["session", "audit"])
    }
    #expect(
      found.flatMap { $0.indices.map(\.name) } == [
        "session_user_id", "live_session", "live_session_of_credential", "ended_session", "denied_session",
        "recent_match_code", "audit_noted_at", "asked_session", "locum_session", "helped_session",
        "audit_credential_id", "held_back_session", "overdue_session", "live_session_of_application",
        "live_session_by_approval", "session_of_credential", "signing_entry", "signing_entry_time", "locum_allowed",
        "refused_entry",
      ])
    // Two have nothing else.
    #expect(found.count(where: { $0.rest == nil }) == 2)
  }

  @Test(.timeLimit(.wholeRun)) func aSignInDoesNotWaitForABuild() async throws {
    let room = try await Self.roomWithoutTheIndex()
    let changing = try Self.changingTheAudit(in: room)
    async let opened = inAThread { try room.opened() }
    do {
      _ = try await Self.builder(in: room)
      _ = try await room.started(room.ask())
    } catch {
      // Otherwise the build would wait on, and this test for it.
      changing.rollBack()
      throw error
    }
    try changing.commit()
    _ = try await opened
    #expect(try Self.isValid(in: room) == true)
    #expect(try Self.notes(in: room) == 1)
  }

  @Test(.timeLimit(.wholeRun)) func aBuildThatWasEndedIsDoneAgainAtTheNextStart() async throws {
    let room = try await Self.roomWithoutTheIndex()
    let changing = try Self.changingTheAudit(in: room)
    let opening = Task { try await inAThread { _ = try room.opened() } }
    do {
      let builder = try await Self.builder(in: room)
      _ = try Self.connection(to: room).ask([
        PostgreSQLCall("SELECT pg_terminate_backend($1::int4)::text", .integer(builder))
      ])
    } catch {
      changing.rollBack()
      throw error
    }
    await #expect(throws: (any Error).self) { try await opening.value }
    try changing.commit()
    #expect(try Self.isValid(in: room) == false)
    #expect(try Self.notes(in: room) == 0)
    _ = try room.opened()
    #expect(try Self.isValid(in: room) == true)
    #expect(try Self.notes(in: room) == 1)
  }

  @Test(.timeLimit(.wholeRun)) func oneOfTwoServersBuilds() async throws {
    let room = try await Self.roomWithoutTheIndex()
    let changing = try Self.changingTheAudit(in: room)
    let openings = (0..<2).map { _ in Task { try await inAThread { _ = try room.opened() } } }
    let built: Int64?
    do {
      _ = try await Self.builder(in: room)
      built = try Self.index(in: room)
    } catch {
      changing.rollBack()
      throw error
    }
    try changing.commit()
    for opening in openings { try await opening.value }
    #expect(built != nil)
    #expect(try Self.index(in: room) == built)
    #expect(try Self.isValid(in: room) == true)
  }

  /// Also if other things of a migration come before its indices.
  @Test func anUpgradedDatabaseHasTheIndicesOfANewOne() async throws {
    let room = try await StorageFixture(.postgresql)
    _ = try await room.phone()
    let credential = try await room.storage.createHostCredential(
      named: "laptop", host: "laptop", of: room.application.id, at: room.now)
    _ = try await room.started(room.ask(by: credential))
    let connection = try Self.connection(to: room)
    let form = [
      PostgreSQLCall(
        """
        SELECT string_agg(pg_get_indexdef(indexrelid) || ' ' || indisvalid, '; ' ORDER BY indexrelid::regclass::text)
        FROM pg_index WHERE indrelid IN ('session'::regclass, 'audit'::regclass, 'phone'::regclass)
        """),
      PostgreSQLCall("SELECT count(*)::text FROM audit WHERE credential_id IS NOT NULL"),
      PostgreSQLCall(
        """
        SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgname = 'audit_credential_id' AND tgrelid = 'audit'::regclass
        """),
      PostgreSQLCall("SELECT string_agg(name, '; ' ORDER BY name) FROM schema_migration"),
    ]
    let new = try connection.ask(form).map { try $0.first?.text(0) }
    try connection.run(
      script: """
        DROP TRIGGER audit_credential_id ON audit;
        DROP FUNCTION audit_credential_id();
        ALTER TABLE audit DROP COLUMN credential_id;
        DROP INDEX overdue_session, live_session_of_application, live_session_by_approval, heard_phone, code_use_age,
          link_age, source_block_age, signing_entry, signing_entry_time;
        DELETE FROM schema_migration WHERE name IN ('names of sign-ins', 'indices of sessions', 'entries of signing');
        """)
    _ = try room.opened()
    let upgraded = try connection.ask(form).map { try $0.first?.text(0) }
    #expect(upgraded == new)
    #expect(!new.contains(nil))
    #expect(new[1] != "0")
  }

  // MARK: A database without one index

  private static func roomWithoutTheIndex() async throws -> StorageFixture {
    let room = try await StorageFixture(.postgresql)
    _ = try await room.phone()
    try await room.undo("allowed locums", sqlite: "", postgreSQL: "DROP INDEX locum_allowed")
    return room
  }

  /// A program that has changed the audit and has not ended its transaction. A build waits for it.
  private static func changingTheAudit(in room: StorageFixture) throws -> PostgreSQLConnection {
    let connection = try connection(to: room)
    _ = try connection.ask([
      PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL idle_in_transaction_session_timeout = 0"),
      PostgreSQLCall("LOCK TABLE audit IN ROW EXCLUSIVE MODE"),
    ])
    return connection
  }

  /// The process of the server's side that builds the index, once it has a lock that writers do not wait for. Databases that
  /// were copied have tables of the same numbers.
  private static func builder(in room: StorageFixture) async throws -> Int64 {
    let connection = try connection(to: room)
    let ask = PostgreSQLCall(
      """
      SELECT pid::int8 FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE datname = current_database() AND relation = 'audit'::regclass
        AND mode = 'ShareUpdateExclusiveLock' AND granted
        AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND to_regclass('locum_allowed') IS NOT NULL
      """)
    while true {
      if let process = try connection.ask([ask])[0].first?.integer(0) { return process }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  private static func isValid(in room: StorageFixture) throws -> Bool? {
    let ask = PostgreSQLCall(
      "SELECT indisvalid::text FROM pg_index WHERE indexrelid = to_regclass('locum_allowed')")
    return try connection(to: room).ask([ask])[0].first?.text(0).map { $0 == "true" }
  }

  private static func index(in room: StorageFixture) throws -> Int64? {
    let ask = PostgreSQLCall("SELECT oid::int8 FROM pg_class WHERE oid = to_regclass('locum_allowed')")
    return try connection(to: room).ask([ask])[0].first?.integer(0)
  }

  private static func notes(in room: StorageFixture) throws -> Int64? {
    let ask = PostgreSQLCall("SELECT count(*) FROM schema_migration WHERE name LIKE 'allowed locums%'")
    return try connection(to: room).ask([ask])[0].first?.integer(0)
  }

  private static func connection(to room: StorageFixture) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }
}
