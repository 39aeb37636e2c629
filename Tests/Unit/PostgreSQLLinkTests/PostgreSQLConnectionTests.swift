import LocalPostgreSQL
import Testing

@testable import PostgreSQLLink

@Suite("A connection to PostgreSQL")
struct PostgreSQLConnectionTests {
  let connection: PostgreSQLConnection

  init() throws { connection = try LocalPostgreSQL.connection() }

  private func number(_ call: PostgreSQLCall) throws -> Int64? { try connection.run([call])[0][0].integer(0) }

  @Test func valuesAreNeverSQL() throws {
    let text = "'; DROP TABLE x; -- $1 \\ \"ü\""
    let row = try connection.run([
      PostgreSQLCall(
        "SELECT $1::text, $2::bytea, $3::bigint, $4::text", .text(text), .bytes([0, 255, 39]), .integer(.min), .null)
    ])[0][0]
    #expect(try row.text(0) == text)
    #expect(try row.bytes(1) == [0, 255, 39])
    #expect(try row.integer(2) == .min)
    #expect(try row.text(3) == nil)
  }

  @Test func aTextWithNULIsRefusedNotCut() {
    #expect(refusal { try connection.run([PostgreSQLCall("SELECT $1::text", .text("a\0b"))]) } == "22021")
  }

  @Test func aColumnOfAnotherTypeIsNotRead() throws {
    let row = try connection.run([PostgreSQLCall("SELECT 1::bigint")])[0][0]
    #expect(throws: PostgreSQLError.self) { try row.text(0) }
    #expect(throws: PostgreSQLError.self) { try row.integer(1) }
  }

  @Test func aRefusalHasItsSQLSTATEAndLeavesTheConnectionUsable() throws {
    #expect(refusal { try connection.run([PostgreSQLCall("SELECT 1 / $1::bigint", .integer(0))]) } == "22012")
    #expect(try number(PostgreSQLCall("SELECT 1 / $1::bigint", .integer(1))) == 1)
  }

  @Test func callsOfOneRoundTripHappenTogetherOrNotAtAll() throws {
    try connection.run([PostgreSQLCall("CREATE TABLE together (n bigint)")])
    #expect(
      refusal {
        try connection.run([
          PostgreSQLCall("INSERT INTO together VALUES ($1)", .integer(1)), PostgreSQLCall("SELECT 1 / 0"),
        ])
      } == "22012")
    #expect(try number(PostgreSQLCall("SELECT count(*) FROM together")) == 0)
  }

  @Test func aTransactionThatThrowsStoresNothing() throws {
    try connection.run([PostgreSQLCall("CREATE TABLE thrown (n bigint)")])
    #expect(throws: PostgreSQLError.self) {
      try connection.transaction { connection throws(PostgreSQLError) in
        _ = try connection.run([PostgreSQLCall("INSERT INTO thrown VALUES (1)")])
        _ = try connection.run([PostgreSQLCall("SELECT 1 / 0")])
      }
    }
    #expect(try number(PostgreSQLCall("SELECT count(*) FROM thrown")) == 0)
  }

  @Test func aFailureThatTheBodySwallowsIsNotACommit() {
    #expect(throws: PostgreSQLError(.rolledBack)) {
      try connection.transaction { connection throws(PostgreSQLError) in
        _ = try? connection.run([PostgreSQLCall("SELECT 1 / 0")])
      }
    }
  }

  @Test func whatARefusedCommitBringsIsNotStored() throws {
    try connection.run([PostgreSQLCall("CREATE TABLE brought (n bigint)")])
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    let add = PostgreSQLCall("INSERT INTO brought VALUES (1)")
    #expect(refusal { try connection.commit(after: [add, PostgreSQLCall("SELECT 1 / 0")]) } == "22012")
    #expect(try number(PostgreSQLCall("SELECT count(*) FROM brought")) == 0)
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try connection.commit(after: [add])
    #expect(try number(PostgreSQLCall("SELECT count(*) FROM brought")) == 1)
  }

  @Test func aScriptHappensWhollyOrNotAtAll() throws {
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    #expect(refusal { try connection.run(script: "CREATE TABLE written (n bigint); SELECT 1 / 0") } == "22012")
    connection.rollBack()
    #expect(try connection.run([PostgreSQLCall("SELECT to_regclass('written')::text")])[0][0].text(0) == nil)
  }

  @Test func aCommitThatIsCutOffIsUnanswered() throws {
    try connection.run([
      PostgreSQLCall("CREATE TABLE cut (n bigint)"),
      PostgreSQLCall(
        """
        CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END'
        """),
      PostgreSQLCall(
        """
        CREATE CONSTRAINT TRIGGER cut_off AFTER INSERT ON cut DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION cut_off()
        """),
    ])
    let error = #expect(throws: PostgreSQLError.self) {
      try connection.transaction { connection throws(PostgreSQLError) in
        _ = try connection.run([PostgreSQLCall("INSERT INTO cut VALUES (1)")])
      }
    }
    #expect(error?.code == .commitUnanswered)
  }

  @Test func oneOfTwoTransactionsOnOneThingWins() throws {
    let other = try LocalPostgreSQL.connection()
    try connection.run([
      PostgreSQLCall("CREATE TABLE won (n bigint)"), PostgreSQLCall("INSERT INTO won VALUES (0)"),
    ])
    let take = PostgreSQLCall("UPDATE won SET n = n + 1")
    let state = refusal {
      try connection.transaction { connection throws(PostgreSQLError) in
        _ = try connection.run([PostgreSQLCall("SELECT n FROM won")])
        try other.transaction { other throws(PostgreSQLError) in _ = try other.run([take]) }
        _ = try connection.run([take])
      }
    }
    #expect(state == "40001")
    #expect(try number(PostgreSQLCall("SELECT n FROM won")) == 1)
  }

  @Test func aNotificationOfAnotherConnectionArrives() throws {
    let other = try LocalPostgreSQL.connection()
    try connection.run([PostgreSQLCall("LISTEN changes")])
    try other.run([PostgreSQLCall("SELECT pg_notify('changes', 'session 7')")])
    let said = try connection.notification(within: .seconds(30))
    #expect(said == PostgreSQLNotification(channel: "changes", payload: "session 7"))
    #expect(try connection.notification(within: .zero) == nil)
  }

  @Test func theServerBoundsStatementsAndLocks() throws {
    let rows = try connection.run([PostgreSQLCall("SHOW statement_timeout"), PostgreSQLCall("SHOW lock_timeout")])
    #expect(try rows.map { try $0[0].text(0) } == ["5s", "3s"])
  }

  @Test func theAddressCannotLiftABoundOfTheServers() throws {
    let lifted = try LocalPostgreSQL.url() + "&options=-c%20statement_timeout%3D0"
    let connection = try PostgreSQLConnection(to: PostgreSQLAddress(validating: lifted))
    #expect(try connection.run([PostgreSQLCall("SHOW statement_timeout")])[0][0].text(0) == "5s")
  }

  @Test func connectionsOfTheServerItselfHaveTheirOwnSessions() throws {
    try connection.requireOwnSession(beside: LocalPostgreSQL.connection())
    #expect(!connection.isInTransaction)
  }

  @Test func aConnectionSharesItsOwnSession() {
    #expect(throws: PostgreSQLError(.sessionsShared)) { try connection.requireOwnSession(beside: connection) }
  }

  @Test func aServerThatIsNotThereIsSaidToBe() throws {
    let nowhere = try PostgreSQLAddress(validating: "postgresql:///iampass?host=/nonexistent")
    let error = #expect(throws: PostgreSQLError.self) { try PostgreSQLConnection(to: nowhere) }
    #expect(error?.code == .notConnected)
  }

  private func refusal(_ step: () throws -> some Any) -> String? {
    let error = #expect(throws: PostgreSQLError.self) { _ = try step() }
    guard case .refused(let state) = error?.code else { return error.map { "\($0)" } }
    return state
  }
}
