import LocalPostgreSQL
import Testing

@testable import PostgreSQLLink

@Suite("Calls whose answers nobody waits for, and two transactions in one round trip")
struct PostgreSQLPipelineTests {
  let connection: PostgreSQLConnection

  init() throws { connection = try LocalPostgreSQL.connection() }

  private let view = PostgreSQLCall("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  private let isInView = PostgreSQLCall("SELECT current_setting('transaction_read_only')")

  private func text(_ call: PostgreSQLCall) throws -> String? { try connection.run([call])[0][0].text(0) }

  @Test func aViewThatWasLeftHasEndedForTheNextCall() throws {
    let before = connection.roundTrips
    for number in 0..<3 {
      #expect(try connection.ask([view, isInView])[1][0].text(0) == "on")
      connection.leave()
      #expect(!connection.isInTransaction)
      #expect(connection.isAlive)
      // The next call may bring a statement that is new, too.
      #expect(
        try connection.run([PostgreSQLCall("SELECT $1::bigint + 1", .integer(Int64(number)))])[0][0].integer(0)
          == Int64(number) + 1)
      #expect(try text(isInView) == "off")
    }
    #expect(connection.roundTrips - before == 9)
  }

  @Test func aScriptBeginsAfterAViewThatWasLeft() throws {
    _ = try connection.ask([view, isInView])
    connection.leave()
    try connection.run(script: "CREATE TABLE scripted (n bigint); INSERT INTO scripted VALUES (1)")
    #expect(try connection.run([PostgreSQLCall("SELECT n FROM scripted")])[0][0].integer(0) == 1)
  }

  @Test func aConnectionThatEndsAfterAViewIsLostAtTheNextCall() throws {
    let other = try LocalPostgreSQL.connection()
    let process = try #require(
      try connection.ask([view, PostgreSQLCall("SELECT pg_backend_pid()::bigint")])[1][0].integer(0))
    connection.leave()
    try other.run([PostgreSQLCall("SELECT pg_terminate_backend($1::bigint::int)::text", .integer(process))])
    // Until the server has ended it, it answers.
    var ended: PostgreSQLError.Code?
    for _ in 0..<1_000 where ended == nil {
      do { _ = try connection.ask([isInView]) } catch { ended = error.code }
    }
    #expect(ended == .connectionLost)
    #expect(!connection.isOpen)
  }

  @Test func whatIsAskedAfterACommitSeesIt() throws {
    try connection.run([PostgreSQLCall("CREATE TABLE spent (n bigint PRIMARY KEY)")])
    let before = connection.roundTrips
    let (rows, answers) = try connection.run(
      [PostgreSQLCall("INSERT INTO spent VALUES (1) RETURNING n")],
      then: [view, PostgreSQLCall("SELECT count(*) FROM spent")])
    #expect(connection.roundTrips - before == 1)
    #expect(try rows[0][0].integer(0) == 1)
    #expect(try answers?[1][0].integer(0) == 1)
    #expect(connection.isInTransaction)
    connection.leave()
    #expect(try text(isInView) == "off")
  }

  @Test func aRefusedCallIsToldWhateverIsAskedAfterwards() throws {
    try connection.run([PostgreSQLCall("CREATE TABLE refused (n bigint PRIMARY KEY)")])
    #expect(throws: PostgreSQLError.self) {
      try connection.run(
        [PostgreSQLCall("INSERT INTO refused VALUES (1)"), PostgreSQLCall("SELECT 1 / (SELECT 0)")],
        then: [view, isInView])
    }
    #expect(!connection.isInTransaction)
    #expect(try connection.run([PostgreSQLCall("SELECT count(*) FROM refused")])[0][0].integer(0) == 0)
  }

  @Test func aRefusedQuestionLeavesWhatWasDone() throws {
    try connection.run([PostgreSQLCall("CREATE TABLE done (n bigint PRIMARY KEY)")])
    let (rows, answers) = try connection.run(
      [PostgreSQLCall("INSERT INTO done VALUES (1) RETURNING n")],
      then: [view, PostgreSQLCall("SELECT 1 / (SELECT 0)")])
    #expect(try rows[0][0].integer(0) == 1)
    #expect(answers == nil)
    #expect(!connection.isInTransaction)
    #expect(try connection.run([PostgreSQLCall("SELECT count(*) FROM done")])[0][0].integer(0) == 1)
  }
}
