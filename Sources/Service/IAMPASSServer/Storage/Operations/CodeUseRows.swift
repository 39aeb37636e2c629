import GRDB
import IAMPASSProtocol

extension CodeUse {
  /// Keeps it, or of one that was reported before whether its session goes on.
  func keep(user: Int64, at now: UnixTime, in db: Database) throws -> KeptUse {
    if let state = try UseState.find(report.id, of: user, in: db) {
      let told = state.reported(open: report.isOpen, at: now)
      if told.isChanged {
        try db.run(
          "UPDATE code_use SET open_until = ? WHERE user = ? AND use = ?",
          [told.openUntil?.milliseconds, user, report.id])
      }
      return told.kept
    }
    try db.run(
      """
      INSERT INTO code_use (user, use, way, credential, context, used_at, codes_left, reported_at, open_until)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        user, report.id, report.way.rawValue, credential,
        String(decoding: report.context.json.encoded(), as: UTF8.self), report.usedAt, report.left, now.milliseconds,
        report.isOpen ? now.advanced(seconds: Self.openTime).milliseconds : nil,
      ])
    return .new
  }

  /// The user says that it was somebody else.
  static func disown(_ id: String, of user: Int64, at now: UnixTime, in db: Database) throws {
    try db.run(
      "UPDATE code_use SET disowned_at = ? WHERE user = ? AND use = ? AND disowned_at IS NULL",
      [now.milliseconds, user, id])
  }

  /// Those that the user's phone is shown, the newest first.
  static func shown(to user: Int64, at now: UnixTime, in db: Database) throws -> [CodeUse] {
    try db.allRows(
      "SELECT * FROM code_use WHERE user = ? AND reported_at >= ? ORDER BY reported_at DESC, used_at DESC, use LIMIT ?",
      [user, now.advanced(seconds: -shownTime).milliseconds, greatestShown]
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

  static func prune(at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: "DELETE FROM code_use WHERE reported_at < ?", arguments: [now.advanced(seconds: -lifetime).milliseconds])
  }
}

extension UseState {
  fileprivate init(_ row: Row) throws {
    openUntil = (try row.get("open_until") as Int64?).map { UnixTime(milliseconds: $0) }
    isDisowned = try row.get("disowned_at") as Int64? != nil
  }

  /// Nil if the user has no such use.
  static func find(_ id: String, of user: Int64, in db: Database) throws -> UseState? {
    try db.firstRow("SELECT open_until, disowned_at FROM code_use WHERE user = ? AND use = ?", [user, id])
      .map { try UseState($0) }
  }
}
