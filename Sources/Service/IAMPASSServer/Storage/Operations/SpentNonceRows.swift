import GRDB

extension SpentNonces {
  /// Whether this nonce is now spent for the first time.
  ///
  /// - Parameters:
  ///   - client: whose signature it was; nonces of different clients do not meet.
  ///   - forgetAt: when the request's time stamp alone refuses it.
  ///   - now: service time.
  static func spend(
    _ nonce: String, client: String, forgetAt: UnixTime, at now: UnixTime, in db: Database
  ) throws -> Bool {
    try db.run(
      """
      INSERT OR IGNORE INTO spent_nonce (client, nonce, forget_at, spent_at) SELECT ?1, ?2, ?3, ?4
      WHERE NOT EXISTS (SELECT 1 FROM restored_copy WHERE nonces_spent_until > ?3)
        AND NOT EXISTS (SELECT 1 FROM forgotten_nonces WHERE ?3 BETWEEN first AND last)
      """,
      [client, nonce, forgetAt.milliseconds, now.milliseconds])
    return db.changesCount == 1
  }

  /// - Parameters:
  ///   - now: service time.
  ///   - wall: the wall clock's. What it has yet to come to is kept, since then it would be taken.
  static func prune(at now: UnixTime, wall: UnixTime, in db: Database) throws {
    let excess = try Int64.fetchOne(
      db, sql: "SELECT spent_at FROM spent_nonce ORDER BY spent_at DESC LIMIT 1 OFFSET ?", arguments: [usualCount])
    let usual = now.advanced(seconds: -usualTime).milliseconds
    let before = min(max(usual, (excess ?? usual - 1) + 1), now.advanced(seconds: -leastTime).milliseconds)
    let old = "FROM spent_nonce WHERE spent_at < ?1 AND forget_at < ?2"
    let arguments: StatementArguments = [before, wall.milliseconds]
    let stamps = try Int64.fetchAll(
      db, sql: "SELECT DISTINCT forget_at " + old + " ORDER BY forget_at", arguments: arguments)
    guard !stamps.isEmpty else { return }
    for span in spans(of: stamps) { try remember(span, in: db) }
    try db.execute(sql: "DELETE " + old, arguments: arguments)
  }

  private static func remember(_ span: ClosedRange<Int64>, in db: Database) throws {
    try db.execute(
      sql: """
        UPDATE forgotten_nonces SET first = min(first, ?1), last = max(last, ?2)
        WHERE rowid = (SELECT rowid FROM forgotten_nonces WHERE ?1 <= last + ?3 AND ?2 >= first - ?3 LIMIT 1)
        """,
      arguments: [span.lowerBound, span.upperBound, greatestGap])
    guard db.changesCount == 0 else { return }
    try db.execute(
      sql: "INSERT INTO forgotten_nonces (first, last) VALUES (?, ?)", arguments: [span.lowerBound, span.upperBound])
  }
}
