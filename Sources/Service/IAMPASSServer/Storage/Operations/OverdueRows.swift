import IAMPASSProtocol

extension OverduePortion {
  /// Ends the next expired sessions.
  static func end(
    at now: UnixTime, after place: OverdueCursor?, limit: Int, in db: some StorageTransaction
  ) throws -> OverduePortion {
    let rows = try rows(at: now, after: place, limit: limit, in: db)
    var portion = OverduePortion()
    for row in rows {
      // A damaged session must not keep all others from ending.
      guard var session = try? Session(row: row) else {
        portion.unreadable.append(try row.get("id"))
        continue
      }
      guard session.end(ifOverdueAt: now) else { continue }
      try session.update(in: db)
      portion.ended.append(session)
    }
    guard rows.count == limit, let last = rows.last else { return portion }
    portion.next = OverdueCursor(deadline: try last.get("deadline"), number: try last.get("place"))
    return portion
  }

  private static func rows<Transaction: StorageTransaction>(
    at now: UnixTime, after place: OverdueCursor?, limit: Int, in db: Transaction
  ) throws -> [Transaction.Row] {
    try db.all(question, now.milliseconds, place?.deadline ?? .min, place?.number ?? .min, limit)
  }

  /// The deadline is ``SessionLifecycle/deadline``, in the same words as in the index `overdue_session`, so that an
  /// engine uses the index.
  static let question: StaticString = """
    SELECT * FROM (
      SELECT session.*, number AS place,
        CASE WHEN approved_at IS NULL THEN started_at + 1000 * answer_time
          WHEN collected_at IS NULL AND duration > 30 THEN approved_at + 30000
          ELSE approved_at + 1000 * duration END AS deadline
      FROM session WHERE ended_at IS NULL
    ) AS live
    WHERE deadline <= $1 AND deadline >= $2 AND (deadline > $2 OR place > $3) ORDER BY deadline, place LIMIT $4
    """
}
