extension PostgreSQLConnection {
  private static let rounds = 4
  /// The number of the server's process, of which there is one for each session.
  private static let process = PostgreSQLCall("SELECT pg_backend_pid()::int8")

  /// Checks that each of two connections has its own session at the server.
  ///
  /// A pooler in transaction mode gives a session to one transaction after the other, of any connection. Then `SET`,
  /// `LISTEN` and `pg_advisory_lock` apply to other connections than the caller's. Such a pooler gives the second
  /// connection the session that the first has just used. If it takes sessions in turn, a connection gets another
  /// session than before. Concurrent transactions have two sessions, which are returned in either order.
  ///
  /// - Throws: ``PostgreSQLError`` with `sessionsShared`, or why the server could not be asked.
  public func requireOwnSession(beside other: PostgreSQLConnection) throws(PostgreSQLError) {
    let (mine, others) = (try session(), try other.session())
    guard mine != others else { throw PostgreSQLError(.sessionsShared) }
    for round in 0..<Self.rounds {
      for connection in [self, other] { _ = try connection.ask([PostgreSQLCall("BEGIN")]) }
      try require(mine, others, of: other)
      for connection in round.isMultiple(of: 2) ? [self, other] : [other, self] { try connection.commit() }
      try require(mine, others, of: other)
    }
  }

  private func require(_ mine: Int64, _ others: Int64, of other: PostgreSQLConnection) throws(PostgreSQLError) {
    guard try session() == mine, try other.session() == others else { throw PostgreSQLError(.sessionsShared) }
  }

  private func session() throws(PostgreSQLError) -> Int64 {
    guard let number = try ask([Self.process])[0].first?.integer(0) else { throw PostgreSQLError(.answerInvalid) }
    return number
  }
}
