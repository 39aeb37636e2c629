import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// What the PostgreSQL engine does by itself, beside the contract that it shares with SQLite's.
@Suite struct PostgreSQLStorageTests {
  private func connection(_ room: StorageFixture) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }

  // MARK: Lost connections

  @Test func connectionsThatTheServerEndedAreReplaced() async throws {
    let room = try await StorageFixture(.postgresql)
    let user = try await room.addUser()
    let storage = try #require(room.storage as? PostgreSQLStorage)
    try storage.pool.lend { first in
      try storage.pool.lend { second in
        for connection in [first, second] { #expect(connection.isAlive) }
      }
    }
    try connection(room).run([
      PostgreSQLCall(
        """
        SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND application_name = current_schema()
        """)
    ])
    #expect(try await room.storage.managed(user, of: room.application.id)?.user.name == "alice")
    #expect(try await room.addUser("eve") != user)
  }

  @Test func aConnectionThatEndsInTheMiddleIsReplacedAndTheWholeDoneAgain() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    let tries = Tries()
    try await storage.write { db in
      try db.execute("INSERT INTO service_fact (name, value) VALUES ('tried', 'once')")
      if tries.next() == 1 {
        _ = try? db.all("SELECT pg_terminate_backend(pg_backend_pid())::text")
        throw PostgreSQLError(.connectionLost)
      }
    }
    #expect(tries.count == 2)
    #expect(try await storage.read { try $0.all("SELECT value FROM service_fact").count } == 1)
  }

  @Test func aConnectionThatTakesNoWritesAnyMoreIsReplaced() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    let readOnly = [PostgreSQLCall("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")]
    try storage.pool.lend { _ = try $0.run(readOnly) }
    // A write is done again.
    #expect(try await room.addUser() == 1)
    try storage.pool.lend { _ = try $0.run(readOnly) }
    // A nonce's request is asked again by its client.
    let nonce = SignedNonce(owner: "web-1", value: "7", forgetAt: room.now.advanced(seconds: 600))
    let error = await #expect(throws: PostgreSQLError.self) { try await storage.useNonce(nonce, at: room.now) }
    #expect(error.map { storage.trouble(behind: $0) } == .unreachable)
    #expect(try await storage.useNonce(nonce, at: room.now))
  }

  @Test func anotherTransactionInBetweenHasTheWholeDoneAgain() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    let other = PostgreSQLTestConnection(try connection(room))
    let tries = Tries()
    try await storage.write { db in
      let rows = try db.all("SELECT id FROM application")
      if tries.next() == 1 { try other.run("UPDATE application SET created_at = created_at + 1") }
      let id: String = try #require(rows.first).get("id")
      try db.execute("UPDATE application SET answer_time = 30 WHERE id = $1", id)
    }
    #expect(tries.count == 2)
    #expect(try await storage.settings(of: room.application.id).answerTime == 30)
  }

  /// The lock that each write takes is held for longer than a write waits, by a program without the service's bounds.
  @Test func aLockThatIsHeldFailsWritesAndNoReads() async throws {
    let room = try await StorageFixture(.postgresql)
    let other = try connection(room)
    _ = try other.ask([
      PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL idle_in_transaction_session_timeout = 0"),
      PostgreSQLCall("LOCK TABLE write_turn IN EXCLUSIVE MODE"),
    ])
    let error = await #expect(throws: PostgreSQLError.self) { try await room.addUser() }
    #expect(error.map { room.storage.trouble(behind: $0) } == .locked)
    #expect(try await room.storage.user("alice", of: room.application.id) == nil)
    other.rollBack()
    #expect(try await room.addUser() == 1)
  }

  /// A failure is just being counted.
  @Test func aCounterInUseKeepsNothingElseFromBeingForgotten() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    for key in ["used", "idle"] { _ = try await storage.count(key, within: 60, at: room.now) }
    room.clock.advance(seconds: 120)
    let other = try connection(room)
    _ = try other.ask([
      PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL idle_in_transaction_session_timeout = 0"),
      PostgreSQLCall("UPDATE failure_count SET failures = 2 WHERE key = 'used'"),
    ])
    try await storage.forgetOld(at: room.now, wall: room.now)
    try other.commit()
    let kept: [String] = try await storage.read { db in
      try db.all("SELECT key FROM failure_count").map { try $0.get("key") }
    }
    #expect(kept == ["used"])
  }

  /// PostgreSQL before 18 parses and plans a function in SQL at each call, unless its one expression can be put in the
  /// caller's place. Those that read a table, as for each entry of the audit, must keep their plans.
  @Test func onlyFunctionsOfOneExpressionAreInSQL() async throws {
    let room = try await StorageFixture(.postgresql)
    let functions = PostgreSQLCall(
      """
      SELECT proname::text FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
      WHERE lanname = 'sql' AND pronamespace = current_schema()::regnamespace ORDER BY proname::text
      """)
    let names = try connection(room).ask([functions])[0].compactMap { try $0.text(0) }
    #expect(names == ["context_part", "database_time", "named_phone"])
  }

  /// A night's outage of the housekeeper, or a flood, leaves more than one statement may delete.
  @Test func oldCountersGoInPortionsTheOldestFirst() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    let connection = try connection(room)
    try connection.run(
      script: """
        INSERT INTO failure_count SELECT 'key ' || n, 1, n FROM generate_series(1, 1500) AS n;
        INSERT INTO poll_pace SELECT 'request ' || n, n, 5, 0 FROM generate_series(1, 1500) AS n;
        SET enable_seqscan = off;
        """)
    let left = [
      PostgreSQLCall("SELECT count(*), coalesce(min(until), 0) FROM failure_count"),
      PostgreSQLCall("SELECT count(*), coalesce(min(asked_at), 0) FROM poll_pace"),
    ]
    #expect(try await storage.forgetLimits(at: room.now))
    for rows in try connection.ask(left) {
      #expect(try rows.first?.integer(0) == 500)
      #expect(try rows.first?.integer(1) == 1_001)
    }
    #expect(try await !storage.forgetLimits(at: room.now))
    for rows in try connection.ask(left) { #expect(try rows.first?.integer(0) == 0) }
    let plans = try connection.ask([
      PostgreSQLCall("EXPLAIN SELECT key FROM failure_count WHERE until < 9 ORDER BY until LIMIT 5"),
      PostgreSQLCall("EXPLAIN SELECT request FROM poll_pace WHERE asked_at < 9 ORDER BY asked_at LIMIT 5"),
    ]).map { try $0.compactMap { try $0.text(0) }.joined() }
    #expect(plans[0].contains("old_failure_count") && plans[1].contains("old_poll_pace"))
  }

  // MARK: Commits without an answer

  @Test func aWriteIsSaidToBeCommittedIfItWas() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try connection(room)
    try connection.run([PostgreSQLCommits.note("told", at: room.now)])
    #expect(try PostgreSQLCommits.has("told", at: room.now, in: connection))
    #expect(try !PostgreSQLCommits.has("other", at: room.now, in: connection))
  }

  @Test func aWriteThatWasSaidNotToBeCommittedNeverWillBe() async throws {
    let room = try await StorageFixture(.postgresql)
    let (writer, asker) = (try connection(room), try connection(room))
    _ = try writer.ask([PostgreSQLCall("BEGIN"), PostgreSQLCall("DELETE FROM application")])
    #expect(try !PostgreSQLCommits.has("late", at: room.now, in: asker))
    #expect(throws: PostgreSQLError.self) {
      try writer.commit(after: [PostgreSQLCommits.note("late", at: room.now)])
    }
    #expect(try await room.storage.applications().count == 1)
  }

  /// The server cuts the first commit off before it is done.
  @Test func aCommitThatIsCutOffHappensOnceInTheEnd() async throws {
    let room = try await StorageFixture(.postgresql)
    let other = try connection(room)
    _ = try other.ask([PostgreSQLCall("BEGIN")])
    try other.run(
      script: """
        CREATE SEQUENCE cuts;
        CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('cuts') = 1 THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
            PERFORM pg_sleep(1);
          END IF;
          RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER cut_off AFTER INSERT ON app_user DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION cut_off();
        """)
    try other.commit()
    let added = try await room.storage.addUsers(["alice"], to: room.application.id)
    #expect(added.created == ["alice"])
    #expect(try await room.events().filter { $0 == "user added" }.count == 1)
  }

  // MARK: Texts

  @Test func aTextWithNULFindsNothing() async throws {
    let room = try await StorageFixture(.postgresql)
    _ = try await room.addUser()
    #expect(try await room.storage.user("alice\0", of: room.application.id) == nil)
    #expect(try await room.storage.signInClient("\0") == nil)
    guard case .not(.unknownUser) = try await room.start(room.ask(for: "alice\0")).outcome else {
      throw StorageFixture.NotStarted()
    }
  }

  @Test(arguments: ["'; DROP TABLE session; --", "\\", "$1", "\u{1F511}"])
  func whateverAComputerSaysOfItselfIsStored(_ host: String) async throws {
    let room = try await StorageFixture(.postgresql)
    _ = try await room.phone()
    let session = try await room.started(room.ask(host: host))
    #expect(try await room.storage.session(session.id)?.context.host == host)
    let asked = try #require(try await room.storage.newestAuditEntries(before: nil, limit: 1).first)
    #expect(asked["host"] == host)
  }

  // MARK: Time

  @Test func allServersHaveTheDatabasesTime() throws {
    let behind = PostgreSQLTime { 1_000 }
    let ahead = PostgreSQLTime { 7_200_000 }
    let connection = try LocalPostgreSQL.connection()
    try behind.measure(connection)
    try ahead.measure(connection)
    let apart = ahead.clocks.wall().milliseconds(since: behind.clocks.wall())
    #expect((0..<10_000).contains(apart))
  }

  @Test func anotherServerGoesOnFromTheStoredTime() async throws {
    let room = try await StorageFixture(.postgresql)
    room.clock.step(seconds: 86_400)
    #expect(try room.opened().now() == room.now)
  }
}

/// Counts how often a transaction was tried.
private final class Tries: @unchecked Sendable {
  // SAFETY: one transaction counts at a time, and the test reads when it is over.
  private(set) var count = 0

  func next() -> Int {
    count += 1
    return count
  }
}

/// SAFETY: used by the one transaction of its test.
private struct PostgreSQLTestConnection: @unchecked Sendable {
  private let connection: PostgreSQLConnection
  init(_ connection: PostgreSQLConnection) { self.connection = connection }
  func run(_ sql: StaticString) throws { try connection.run([PostgreSQLCall(sql)]) }
}
