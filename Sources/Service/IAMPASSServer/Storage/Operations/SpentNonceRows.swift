extension SpentNonces {
  /// Forgets what is old, and remembers its span. Nobody may spend a nonce meanwhile: it could be one of those.
  ///
  /// - Parameters:
  ///   - now: service time.
  ///   - wall: the wall clock's. What it has yet to come to is kept, since then it would be taken.
  static func prune(at now: UnixTime, wall: UnixTime, in db: some StorageWork) throws {
    let excess: Int64? = try db.first(
      "SELECT spent_at FROM spent_nonce ORDER BY spent_at DESC LIMIT 1 OFFSET $1", usualCount)?.get("spent_at")
    let usual = now.advanced(seconds: -usualTime).milliseconds
    let before = min(max(usual, (excess ?? usual - 1) + 1), now.advanced(seconds: -leastTime).milliseconds)
    let stamps: [Int64] = try db.all(
      "SELECT DISTINCT forget_at FROM spent_nonce WHERE spent_at < $1 AND forget_at < $2 ORDER BY forget_at", before,
      wall.milliseconds
    ).map { try $0.get("forget_at") }
    guard !stamps.isEmpty else { return }
    for span in spans(of: stamps) { try remember(span, in: db) }
    try db.execute("DELETE FROM spent_nonce WHERE spent_at < $1 AND forget_at < $2", before, wall.milliseconds)
  }

  private static func remember(_ span: ClosedRange<Int64>, in db: some StorageWork) throws {
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
