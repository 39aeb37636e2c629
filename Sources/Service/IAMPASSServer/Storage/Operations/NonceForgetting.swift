extension NonceTimes {
  /// See ``StorageEngine/endOfOldNonces(at:wall:)``.
  ///
  /// - Parameters:
  ///   - now: service time.
  ///   - wall: the wall clock's time. A nonce whose stamp is still ahead of it is kept: its request could be accepted
  ///     again.
  static func endOfOld(at now: UnixTime, wall: UnixTime, in db: some StorageTransaction) throws -> Int64? {
    let excess: Int64? = try db.first(
      "SELECT spent_at FROM spent_nonce ORDER BY spent_at DESC LIMIT 1 OFFSET $1", usualCount)?.get("spent_at")
    let usual = now.advanced(seconds: -usualTime).milliseconds
    let end = min(max(usual, (excess ?? usual - 1) + 1), now.advanced(seconds: -leastTime).milliseconds)
    // Without an order PostgreSQL reads the table until it finds one: it supposes that a ninth of the rows are old.
    let isThere = try db.has(
      "SELECT 1 FROM spent_nonce WHERE spent_at < $1 AND forget_at < $2 ORDER BY spent_at LIMIT 1",
      end, wall.milliseconds)
    return isThere ? end : nil
  }

  /// Forgets a portion of what was used before `end`, and remembers its span. Nobody may use a nonce meanwhile: it
  /// could be one of those.
  ///
  /// - Returns: whether there may be more.
  static func prune(before end: Int64, wall: UnixTime, in db: some StorageTransaction) throws -> Bool {
    let stamps: [Int64] = try db.change(
      """
      DELETE FROM spent_nonce WHERE (client, nonce) IN (
        SELECT client, nonce FROM spent_nonce WHERE spent_at < $1 AND forget_at < $2 ORDER BY spent_at LIMIT $3
      ) RETURNING forget_at
      """, end, wall.milliseconds, Forgettable.portion
    ).map { try $0.get("forget_at") }
    guard !stamps.isEmpty else { return false }
    for span in spans(of: stamps.sorted()) { try remember(span, in: db) }
    return stamps.count >= Forgettable.portion
  }

  private static func remember(_ span: ClosedRange<Int64>, in db: some StorageTransaction) throws {
    let widened = try db.change(
      """
      UPDATE forgotten_nonces SET first = least(first, $1), last = greatest(last, $2)
      WHERE number = (SELECT number FROM forgotten_nonces WHERE $1 <= last + $3 AND $2 >= first - $3 LIMIT 1)
      RETURNING number
      """, span.lowerBound, span.upperBound, greatestGap)
    guard widened.isEmpty else { return }
    try db.execute(
      "INSERT INTO forgotten_nonces (first, last) VALUES ($1, $2)", span.lowerBound, span.upperBound)
  }
}
