import IAMPASSProtocol

// The live sessions that the console lists.

extension SessionSummary {
  /// The newest live sessions of a user.
  static func live(of user: Int64, in db: some StorageTransaction) throws -> [SessionSummary] {
    try db.all(
      """
      SELECT session.*, application.name AS application_name, phone.display_name
      FROM session /*SQLite INDEXED BY live_session */
      JOIN application ON application.id = session.application
      LEFT JOIN phone ON phone.id = coalesce(session.answered_by, (SELECT one.id FROM phone AS one
        WHERE one.user_id = session.user_id AND one.cut_off_at IS NULL ORDER BY one.registered_at, one.number LIMIT 1))
      WHERE session.user_id = $1 AND session.ended_at IS NULL AND session.approved_at IS NOT NULL
      ORDER BY session.approved_at DESC LIMIT $2
      """, user, greatestCount
    ).compactMap { try SessionSummary(row: $0) }
  }

  /// Nil for a session that cannot be read, which must not hide all others. It ends with its user, its phone or its
  /// computer.
  fileprivate init?(row: some StorageRow) throws {
    guard let session = try? Session(row: row) else { return nil }
    try self.init(session: session, application: row.get("application_name"), phone: row.get("display_name"))
  }
}

extension SessionPage {
  init(_ filter: SessionFilter, in db: some StorageTransaction) throws {
    // The page has the sessions from the first place on, and those before the end.
    var first = SessionPlace(approvedAt: filter.until.map { $0.milliseconds - 1 } ?? Int64.max, number: Int64.max)
    if let start = filter.start, let place = try SessionPlace(of: start, in: db), place < first { first = place }
    var end = SessionPlace(approvedAt: filter.from.map { $0.milliseconds - 1 } ?? -1, number: Int64.max)
    var beyond: String?
    if filter.isSearch, let (id, place) = try first.following(filter.reach, before: end, in: db) {
      beyond = id
      end = place
    }
    let rows = try db.all(
      """
      SELECT session.*, application.name AS application_name, phone.display_name FROM session
      JOIN application ON application.id = session.application
      LEFT JOIN phone ON phone.id = coalesce(session.answered_by, (SELECT one.id FROM phone AS one
        WHERE one.user_id = session.user_id AND one.cut_off_at IS NULL ORDER BY one.registered_at, one.number LIMIT 1))
      WHERE session.ended_at IS NULL AND session.approved_at IS NOT NULL
        AND session.approved_at <= $1 AND session.approved_at >= $3
        AND (session.approved_at, session.number) <= ($1, $2) AND (session.approved_at, session.number) > ($3, $4)
        AND ($5::text = '' OR strpos(lower(coalesce(phone.display_name, '') || ' '
          || coalesce(session.context::json ->> 'user', '')), lower($5::text)) > 0)
        AND ($6::text = '' OR strpos(lower(coalesce(session.context::json ->> 'host', '')), lower($6::text)) > 0)
      ORDER BY session.approved_at DESC, session.number DESC LIMIT $7
      """, first.approvedAt, first.number, end.approvedAt, end.number, filter.user, filter.computer, filter.length + 1)
    sessions = try rows.prefix(filter.length).compactMap { try SessionSummary(row: $0) }
    let ids: [String] = try rows.map { try $0.get("id") }
    further = ids.count > filter.length ? ids[filter.length] : beyond
  }
}

/// A place in the order of live sessions, which is that of their approvals.
private struct SessionPlace: Comparable {
  let approvedAt: Int64
  /// Gives sessions an order that were approved in the same millisecond.
  let number: Int64

  init(approvedAt: Int64, number: Int64) {
    self.approvedAt = approvedAt
    self.number = number
  }

  /// Nil for an unknown session.
  init?(of session: String, in db: some StorageTransaction) throws {
    let row = try db.first(
      "SELECT approved_at, number AS place FROM session WHERE id = $1 AND approved_at IS NOT NULL", session)
    guard let row else { return nil }
    self.init(approvedAt: try row.get("approved_at"), number: try row.get("place"))
  }

  static func < (one: SessionPlace, other: SessionPlace) -> Bool {
    (one.approvedAt, one.number) < (other.approvedAt, other.number)
  }

  /// The live session that comes `count` places later; nil if the end comes before that.
  func following(
    _ count: Int, before end: SessionPlace, in db: some StorageTransaction
  ) throws -> (id: String, place: SessionPlace)? {
    let row = try db.first(
      """
      SELECT id, approved_at, number AS place FROM session
      WHERE ended_at IS NULL AND approved_at IS NOT NULL AND approved_at <= $1 AND approved_at >= $3
        AND (approved_at, number) <= ($1, $2) AND (approved_at, number) > ($3, $4)
      ORDER BY approved_at DESC, number DESC LIMIT 1 OFFSET $5
      """, approvedAt, number, end.approvedAt, end.number, count)
    return try row.map {
      (try $0.get("id"), SessionPlace(approvedAt: try $0.get("approved_at"), number: try $0.get("place")))
    }
  }
}
