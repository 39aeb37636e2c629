import IAMPASSProtocol

// Pages of join codes and of the computers that asked by them, and their end.

extension JoinCodePage {
  /// - Parameter id: the page begins after this code; empty or unknown: with the newest.
  fileprivate init(after id: String, at now: UnixTime, _ clock: StorageClock, in db: some StorageTransaction) throws {
    let place: Int64? = try db.first("SELECT created_at FROM join_code WHERE id = $1", id)?.get("created_at")
    let rows = try db.all(
      """
      SELECT join_code.*, application.name AS shown FROM join_code
      JOIN application ON application.id = join_code.application
      WHERE (join_code.created_at, join_code.id) < ($1, $2)
      ORDER BY join_code.created_at DESC, join_code.id DESC LIMIT $3
      """, place ?? Int64.max, id, Self.length)
    let codes = try rows.map { (code: try StoredJoinCode(row: $0), application: try $0.get("shown") as String) }
    try db.prefetch { db in
      for one in codes { _ = try Joining.firstJoined(by: one.code.id, in: db) }
    }
    self.codes = try codes.map { one in
      try Listed(
        code: one.code.dated(by: clock), application: one.application, isOver: one.code.isOver(at: now),
        joined: Joining.firstJoined(by: one.code.id, in: db))
    }
    further = codes.count == Self.length ? codes.last?.code.id : nil
  }
}

extension JoiningPage {
  /// - Parameter id: the page begins after this computer; empty or unknown: with the one that asked first.
  fileprivate init(
    of code: StoredJoinCode, application: String, after id: String, _ clock: StorageClock,
    in db: some StorageTransaction
  ) throws {
    let place = try Joining.askedAt(id, in: db)
    let found = try db.all(
      "SELECT * FROM joining WHERE code = $1 AND (asked_at, id) > ($2, $3) ORDER BY asked_at, id LIMIT $4", code.id,
      place ?? Int64.min, id, Self.length
    ).map(Joining.init(row:))
    self.init(found.map { (joining: $0, application: application) }, clock)
  }

  /// The computers that wait, by all codes.
  ///
  /// - Parameter id: the page begins after this computer; empty or unknown: with the one that asked first.
  fileprivate init(waitingAfter id: String, _ clock: StorageClock, in db: some StorageTransaction) throws {
    let place = try Joining.askedAt(id, in: db)
    let found = try db.all(
      """
      SELECT joining.*, application.name AS shown FROM joining JOIN join_code ON join_code.id = joining.code
      JOIN application ON application.id = join_code.application
      WHERE joining.state = 'waiting' AND (joining.asked_at, joining.id) > ($1, $2)
      ORDER BY joining.asked_at, joining.id LIMIT $3
      """, place ?? Int64.min, id, Self.length
    ).map { (joining: try Joining(row: $0), application: try $0.get("shown") as String) }
    self.init(found, clock)
  }

  private init(_ found: [(joining: Joining, application: String)], _ clock: StorageClock) {
    computers = found.map { Listed(joining: $0.joining.dated(by: clock), application: $0.application) }
    further = found.count == Self.length ? found.last?.joining.id : nil
  }
}

extension Joining {
  /// When it asked, in milliseconds of service time; nil for an unknown one.
  fileprivate static func askedAt(_ id: String, in db: some StorageTransaction) throws -> Int64? {
    try db.first("SELECT asked_at FROM joining WHERE id = $1", id)?.get("asked_at")
  }

  /// The names of the computers that first joined by the code, one more than a list shows.
  fileprivate static func firstJoined(by code: String, in db: some StorageTransaction) throws -> [String] {
    try db.all(
      "SELECT name FROM joining WHERE code = $1 AND state = 'joined' ORDER BY asked_at, id LIMIT $2", code,
      JoinCodePage.shownNames + 1
    ).map { try $0.get("name") }
  }

  /// Deletes the computers that asked by codes which expired long ago, and such codes once none is left: while a code
  /// works, the service knows who used it.
  ///
  /// - Returns: the number of deleted rows.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    let end = now.advanced(seconds: -KeptAnswer.lifetime).milliseconds
    // Without an order PostgreSQL reads the table until it finds one: it supposes that a third of the rows are old.
    guard try db.has("SELECT id FROM join_code WHERE expires_at < $1 ORDER BY expires_at LIMIT 1", end) else {
      return 0
    }
    try StoredJoinCode.lockAll(in: db)
    let joinings = try db.change(
      """
      DELETE FROM joining WHERE id IN (
        SELECT joining.id FROM join_code JOIN joining ON joining.code = join_code.id
        WHERE join_code.expires_at < $1 ORDER BY join_code.expires_at LIMIT $2)
      RETURNING asked_at
      """, end, Forgettable.portion
    ).count
    guard joinings < Forgettable.portion else { return joinings }
    let codes = try db.change(
      """
      DELETE FROM join_code WHERE id IN (
        SELECT id FROM join_code WHERE expires_at < $1
          AND NOT EXISTS (SELECT 1 FROM joining WHERE joining.code = join_code.id)
        ORDER BY expires_at LIMIT $2)
      RETURNING expires_at
      """, end, Forgettable.portion - joinings
    ).count
    return joinings + codes
  }
}

extension StorageEngine {
  func joinCodes(after id: String) async throws -> JoinCodePage {
    let now = now()
    return try await read { [clock] in try JoinCodePage(after: id, at: now, clock, in: $0) }
  }

  func waitingJoins(after id: String) async throws -> JoiningPage {
    try await read { [clock] in try JoiningPage(waitingAfter: id, clock, in: $0) }
  }

  func joinCode(_ id: String, after joining: String) async throws -> JoinCodeOverview? {
    try await read { [clock] db in
      let row = try db.first(
        """
        SELECT join_code.*, application.name AS shown FROM join_code
        JOIN application ON application.id = join_code.application WHERE join_code.id = $1
        """, id)
      guard let row else { return nil }
      let (code, application): (StoredJoinCode, String) = (try StoredJoinCode(row: row), try row.get("shown"))
      return JoinCodeOverview(
        code: code.dated(by: clock), application: application,
        page: try JoiningPage(of: code, application: application, after: joining, clock, in: db))
    }
  }
}
