import PostgreSQLLink

extension PostgreSQLStorage: SharedLimits {
  var limits: (any SharedLimits)? { self }

  func count(_ key: String, within window: Int64, at now: UnixTime) async throws -> (failures: Int, end: UnixTime) {
    let rows = try await commitAlone(
      .counting,
      PostgreSQLCall(
        """
        INSERT INTO failure_count (key, failures, until) VALUES ($1, 1, $3)
        ON CONFLICT (key) DO UPDATE SET
          failures = CASE WHEN failure_count.until > $2 THEN failure_count.failures + 1 ELSE 1 END,
          until = CASE WHEN failure_count.until > $2 THEN failure_count.until ELSE $3 END
        RETURNING failures, until
        """, .text(key), .integer(now.milliseconds), .integer(now.advanced(seconds: window).milliseconds)))
    guard let row = rows.first else { throw DamagedRow(column: "failures") }
    let failures: Int64 = try row.get("failures")
    return (Int(failures), UnixTime(milliseconds: try row.get("until")))
  }

  func isTooFast(_ request: String, at now: UnixTime) async throws -> Bool {
    let rows = try await commitAlone(
      .counting,
      PostgreSQLCall(
        """
        INSERT INTO poll_pace (request, asked_at, step, is_too_fast) VALUES ($1, $2, $3, 0)
        ON CONFLICT (request) DO UPDATE SET asked_at = $2,
          step = CASE WHEN $2 - poll_pace.asked_at < poll_pace.step * 1000 - $4
            THEN least(poll_pace.step + $3, $5) ELSE poll_pace.step END,
          is_too_fast = ($2 - poll_pace.asked_at < poll_pace.step * 1000 - $4)::int
        RETURNING is_too_fast
        """, .text(request), .integer(now.milliseconds), .integer(PollPace.interval), .integer(PollPace.tolerance),
        .integer(PollPace.greatestInterval)))
    guard let row = rows.first else { throw DamagedRow(column: "is_too_fast") }
    return try row.get("is_too_fast")
  }

  /// Deletes a portion of old counters, each statement in its own transaction: counters change at any moment, which would
  /// undo a serializable transaction. A locked row is left for the next time.
  ///
  /// - Returns: whether there may be more.
  func forgetLimits(at now: UnixTime) async throws -> Bool {
    // An array, because PostgreSQL may run a subquery of IN again for each row, and would then delete more than LIMIT.
    let failures = try await commitAlone(
      .writing,
      PostgreSQLCall(
        """
        DELETE FROM failure_count WHERE key = ANY (ARRAY(
          SELECT key FROM failure_count WHERE until < $1 ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING until
        """, .integer(now.milliseconds), .integer(Int64(Forgettable.portion))))
    let paces = try await commitAlone(
      .writing,
      PostgreSQLCall(
        """
        DELETE FROM poll_pace WHERE request = ANY (ARRAY(
          SELECT request FROM poll_pace WHERE asked_at < $1 ORDER BY asked_at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING asked_at
        """, .integer(now.advanced(seconds: -PollPace.memory).milliseconds), .integer(Int64(Forgettable.portion))))
    return max(failures.count, paces.count) >= Forgettable.portion
  }
}
