import IAMPASSProtocol

extension CodeUse {
  /// Stores a new use. For a use that was reported before, stores whether its session goes on.
  func keep(user: Int64, at now: UnixTime, in db: some StorageTransaction) throws -> KeptUse {
    if let state = try UseState.find(report.id, of: user, in: db) {
      let reported = state.reported(open: report.isOpen, at: now)
      if reported.isChanged {
        try db.execute(
          "UPDATE code_use SET open_until = $1 WHERE user_id = $2 AND use = $3", reported.openUntil?.milliseconds, user,
          report.id)
      }
      return reported.kept
    }
    try db.execute(
      """
      INSERT INTO code_use (user_id, use, way, credential, context, used_at, codes_left, reported_at, open_until)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      """,
      user, report.id, report.way.rawValue, credential,
      String(decoding: report.context.json.encoded(), as: UTF8.self), report.usedAt, report.left, now.milliseconds,
      report.isOpen ? now.advanced(seconds: Self.openTime).milliseconds : nil)
    return .new
  }

  /// Notes that the user has disowned the use.
  static func disown(_ id: String, of user: Int64, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      "UPDATE code_use SET disowned_at = $1 WHERE user_id = $2 AND use = $3 AND disowned_at IS NULL",
      now.milliseconds, user, id)
  }

  /// The uses that the user's phone shows, newest first.
  static func shown(to user: Int64, at now: UnixTime, in db: some StorageTransaction) throws -> [CodeUse] {
    try db.all(
      """
      SELECT * FROM code_use WHERE user_id = $1 AND reported_at >= $2
      ORDER BY reported_at DESC, used_at DESC, use LIMIT $3
      """, user, now.advanced(seconds: -shownTime).milliseconds, Int64(greatestShown)
    ).map { row in
      guard let way = CodeUseReport.Way(rawValue: try row.get("way")) else { throw DamagedRow(column: "way") }
      return CodeUse(
        report: CodeUseReport(
          id: try row.get("use"), way: way, usedAt: try row.get("used_at"), left: try row.get("codes_left"),
          context: try SignInContext(JSON(parsing: Array((row.get("context") as String).utf8))),
          isOpen: try UseState(row).isOpen(at: now)),
        credential: try row.get("credential"))
    }
  }

  /// - Returns: the number of deleted uses.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    try db.change(
      """
      DELETE FROM code_use WHERE (user_id, use) IN (SELECT user_id, use FROM code_use WHERE reported_at < $1 ORDER BY reported_at LIMIT $2)
      RETURNING reported_at
      """, now.advanced(seconds: -lifetime).milliseconds, Forgettable.portion
    ).count
  }
}

extension UseState {
  fileprivate init(_ row: some StorageRow) throws {
    openUntil = (try row.get("open_until") as Int64?).map { UnixTime(milliseconds: $0) }
    isDisowned = try row.get("disowned_at") as Int64? != nil
  }

  /// Nil if the user has no such use.
  static func find(_ id: String, of user: Int64, in db: some StorageTransaction) throws -> UseState? {
    try db.first("SELECT open_until, disowned_at FROM code_use WHERE user_id = $1 AND use = $2", user, id)
      .map { try UseState($0) }
  }
}
