import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// What is old is forgotten some at a time, and each kind by itself.
@Suite struct HousekeepingTests {
  private static let count = 5 * Forgettable.portion / 2

  /// After a day without housekeeping there are more than one step may forget.
  @Test(arguments: StorageEngine.allCases)
  func manyNoncesOfYesterdayAreForgottenInPortions(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await room.useMany(Self.count)
    let first = SignedNonce(owner: "many", value: "1", forgetAt: room.now)
    let last = SignedNonce(owner: "many", value: "\(Self.count)", forgetAt: room.now)
    room.clock.advance(seconds: 2 * 86_400)
    let new = SignedNonce(owner: "many", value: "new", forgetAt: room.now.advanced(seconds: SignedNonce.lifetime))
    func forget() async throws -> Bool {
      try await room.storage.forgetOld(.nonces, at: room.now, wall: room.clock.now)
    }
    #expect(try await forget())
    #expect(try await room.nonces() == Self.count - Forgettable.portion)
    // Between two portions: what was forgotten stays used, what is yet to be forgotten as well, and a new one is taken.
    #expect(try await !room.storage.useNonce(first, at: room.now))
    #expect(try await !room.storage.useNonce(last, at: room.now))
    #expect(try await room.storage.useNonce(new, at: room.now))
    #expect(try await forget())
    #expect(try await !forget())
    #expect(try await room.nonces() == 1)
    #expect(try await !room.storage.useNonce(first, at: room.now))
    #expect(try await !room.storage.useNonce(new, at: room.now))
  }

  @Test(arguments: StorageEngine.allCases)
  func aRoundForgetsAllAndNoMoreThanItMay(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await room.useMany(Self.count)
    room.clock.advance(seconds: 2 * 86_400)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now, portions: 2)
    #expect(try await room.nonces() == Self.count - 2 * Forgettable.portion)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await room.nonces() == 0)
  }

  @Test(arguments: StorageEngine.allCases) func eachKindIsForgotten(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.approved(by: phone)
    _ = try await room.storage.logOut(session.id, at: room.now)
    let code = try await room.makeLink().code
    let visit = try await room.storage.createConsoleLink(at: room.now)
    #expect(try await room.storage.keptAnswers(after: 0, limit: 10).count == 1)
    room.clock.advance(seconds: 500 * 86_400)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await room.storage.session(session.id) == nil)
    #expect(try await room.storage.link(code) == nil)
    #expect(try await room.storage.keptAnswers(after: 0, limit: 10).isEmpty)
    #expect(try await room.storage.auditEntries(after: 0, limit: 10).isEmpty)
    #expect(try await !room.storage.isUsable(consoleLink: visit, at: room.now))
    // Nothing is old any more: nothing is written.
    for kind in Forgettable.allCases {
      #expect(try await !room.storage.forgetOld(kind, at: room.now, wall: room.clock.now))
    }
  }

  @Test func aKindThatFailsKeepsNoOtherAndIsSaid() async throws {
    let room = try await StorageFixture(.sqlite)
    try await room.useMany(3)
    _ = try await room.addUser()
    _ = try await room.makeLink()
    let storage = try #require(room.storage as? SQLiteStorage)
    try await storage.write {
      try $0.execute(sql: "CREATE TRIGGER refusing BEFORE DELETE ON link BEGIN SELECT RAISE(ABORT, 'no'); END")
    }
    room.clock.advance(seconds: 500 * 86_400)
    await #expect(throws: DatabaseError.self) {
      try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    }
    #expect(try await room.nonces() == 0)
    #expect(try await room.storage.auditEntries(after: 0, limit: 10).isEmpty)
  }

  /// The end of what is overdue fails in this round, or the look for silent phones does.
  @Test(arguments: [1, 2]) func aStepThatFailsKeepsNoOtherFromItsTurn(_ number: Int) async throws {
    let fixture = try await Fixture { LosingStorage($0, losing: number, .before) }
    let losing = try #require(fixture.service.core.storage as? LosingStorage)
    let application = fixture.application.id
    _ = try await losing.inner.addUsers(["alice"], to: application)
    let code = Secret(try RandomValue.identifier())
    let order = LinkOrder(code: code, user: "alice", application: application, displayName: "Alice", loss: nil)
    _ = try await losing.inner.makeLink(order, at: fixture.clock.now)
    fixture.clock.advance(seconds: 500 * 86_400)
    await #expect(throws: LosingStorage.ConnectionLost.self) { try await fixture.service.tidy() }
    #expect(losing.lost == ["endOverdue(at:after:limit:)", "leaveForSilence(since:at:limit:)"][number - 1])
    #expect(try await losing.inner.link(code) == nil)
  }

  /// Another program holds a table: housekeeping waits for it, and nobody waits for housekeeping who signs a request.
  @Test func whileHousekeepingWaitsNoncesAreSpent() async throws {
    let room = try await StorageFixture(.postgresql)
    try await room.useMany(3)
    _ = try await room.addUser()
    _ = try await room.makeLink()
    room.clock.advance(seconds: 2 * 86_400)
    let (holder, looker) = (try room.connection(), try room.connection())
    _ = try holder.ask([
      PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL idle_in_transaction_session_timeout = 0"),
      PostgreSQLCall("LOCK TABLE link IN SHARE MODE"),
    ])
    let storage = room.storage
    let (now, wall) = (room.now, room.clock.now)
    // Its wait has a bound. One that was over before anybody looked is repeated.
    let forgetting = Task { while !Task.isCancelled { try? await storage.forgetOld(at: now, wall: wall) } }
    // Both in one look: who waits for the table, and who could keep a nonce waiting.
    var (waiting, keeping): (Int64, Int64) = (0, 0)
    while waiting == 0 {
      let row = try #require(
        looker.run([
          PostgreSQLCall(
            """
            SELECT count(*) FILTER (WHERE NOT granted AND relation = 'link'::regclass) AS waiting,
              count(*) FILTER (WHERE granted AND relation = 'forgotten_nonces'::regclass) AS keeping FROM pg_locks
            WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """)
        ])[0].first)
      (waiting, keeping) = (try row.get("waiting"), try row.get("keeping"))
      try await Task.sleep(for: .milliseconds(2))
    }
    #expect(keeping == 0)
    let nonce = SignedNonce(owner: "new", value: "1", forgetAt: now.advanced(seconds: SignedNonce.lifetime))
    #expect(try await storage.useNonce(nonce, at: now))
    holder.rollBack()
    forgetting.cancel()
    await forgetting.value
    #expect(try await room.nonces() == 1)
  }

  /// A standby that is lost would keep whoever waits for the commit.
  @Test func nothingThatIsForgottenWaitsForAStandby() async throws {
    let room = try await StorageFixture(.postgresql)
    try await room.useMany(3)
    _ = try await room.addUser()
    _ = try await room.makeLink()
    room.clock.advance(seconds: 500 * 86_400)
    let connection = try room.connection()
    try connection.run(
      script: """
        CREATE TABLE waited (place text NOT NULL);
        CREATE FUNCTION note_wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF current_setting('synchronous_commit') <> 'off' THEN INSERT INTO waited VALUES (TG_TABLE_NAME); END IF;
          RETURN NULL;
        END $$;
        CREATE TRIGGER waits AFTER DELETE ON spent_nonce FOR EACH STATEMENT EXECUTE FUNCTION note_wait();
        CREATE TRIGGER waits AFTER DELETE ON link FOR EACH STATEMENT EXECUTE FUNCTION note_wait();
        CREATE TRIGGER waits AFTER DELETE ON audit FOR EACH STATEMENT EXECUTE FUNCTION note_wait();
        CREATE TRIGGER waits AFTER DELETE ON committed_write FOR EACH STATEMENT EXECUTE FUNCTION note_wait();
        """)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await room.nonces() == 0)
    let waited: [String] = try connection.run([PostgreSQLCall("SELECT place FROM waited")])[0].map {
      try $0.get("place")
    }
    #expect(waited == [])
  }
}

extension StorageFixture {
  struct NoEngine: Error {}

  /// Uses this number of nonces at once, "1" and so on.
  fileprivate func useMany(_ count: Int) async throws {
    let stamp = now.milliseconds
    switch storage {
    case let storage as SQLiteStorage:
      try await storage.write { db in
        try db.execute(
          sql: """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
            INSERT INTO spent_nonce (client, nonce, forget_at, spent_at) SELECT 'many', n, ?2, ?2 FROM number
            """, arguments: [count, stamp])
      }
    case is PostgreSQLStorage:
      try connection().run([
        PostgreSQLCall(
          """
          INSERT INTO spent_nonce (client, nonce, forget_at, spent_at)
          SELECT 'many', n::text, $2, $2 FROM generate_series(1, $1) AS n
          """, .integer(Int64(count)), .integer(stamp))
      ])
    default: throw NoEngine()
    }
  }

  /// How many are remembered.
  fileprivate func nonces() async throws -> Int {
    switch storage {
    case let storage as SQLiteStorage:
      return try await storage.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM spent_nonce") ?? 0 }
    default:
      let rows = try connection().run([PostgreSQLCall("SELECT count(*) AS count FROM spent_nonce")])
      let count: Int64? = try rows[0].first?.get("count")
      return Int(try #require(count))
    }
  }

  fileprivate func connection() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
  }
}
