import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// Whoever asks whether a row is there gets one by its index, and nobody reads a table in vain.
@Suite struct FirstRowPlanTests {
  /// Once a statement was asked five times, PostgreSQL takes the plan that does not know the values, unless it seems dearer.
  /// That plan supposes that a third of all rows are before any time. So the first of them seems to be near wherever it looks.
  @Test func postgreSQLLooksForOldRowsFromTheOldest() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try StatementPlanTests.explaining(room)
    try connection.run(script: "SET enable_seqscan = on; ALTER TABLE join_code DISABLE TRIGGER USER")
    _ = try connection.run([
      PostgreSQLCall(
        """
        INSERT INTO spent_nonce (client, nonce, forget_at, spent_at)
        SELECT 'client', 'nonce ' || n, n, n FROM generate_series(1, 3000) AS n
        """),
      PostgreSQLCall(
        """
        INSERT INTO join_code (id, application, digest, uses, is_unattended, created_at, expires_at)
        SELECT 'one ' || n, $1, 'digest ' || n, 1, 0, n, n FROM generate_series(1, 3000) AS n
        """, .text(room.application.id)),
    ])
    try connection.run(script: "ANALYZE spent_nonce; ANALYZE join_code")
    let statements = try StatementPlanTests.allStatements().filter {
      $0.contains(#/^SELECT (1 FROM spent_nonce WHERE spent_at|id FROM join_code WHERE expires_at) </#)
    }
    #expect(statements.count == 2)
    for statement in statements {
      let lines = try StatementPlanTests.plan(of: statement, connection)
      #expect(!lines.contains { $0.contains("Seq Scan") }, "\(statement): \(lines)")
    }
  }
}
