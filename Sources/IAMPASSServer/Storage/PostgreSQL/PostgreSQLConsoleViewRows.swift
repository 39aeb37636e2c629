import DeviceProtocol
import IAMPASSProtocol
import PostgreSQLLink

extension ApplicationSummary {
  /// - Parameter id: nil for all, by their names.
  static func find(_ id: String? = nil, in db: PostgreSQLWork) throws -> [ApplicationSummary] {
    let sql: StaticString = """
      SELECT application.*,
        (SELECT count(*) FROM app_user WHERE app_user.application = application.id) AS users,
        (SELECT count(*) FROM session WHERE session.application = application.id) AS all_sessions,
        (SELECT count(*) FROM session WHERE session.application = application.id AND ended_at IS NULL
          AND approved_at IS NOT NULL) AS live_sessions
      FROM application WHERE $1::text IS NULL OR id = $1::text ORDER BY name
      """
    return try db.all(sql, id).map { row in
      try ApplicationSummary(
        id: row.get("id"), name: row.get("name"), users: row.get("users"), liveSessions: row.get("live_sessions"),
        allSessions: row.get("all_sessions"), settings: ApplicationSettings(row: row))
    }
  }
}

extension UserSummary {
  private init(row: PostgreSQLRow) throws {
    let name: String = try row.get("name")
    id = try row.get("id")
    shownName = UserSummary.shown(name)
    phone = try row.get("display_name")
    registeredAt = try row.time("registered_at")
    isAway = try (row.get("presence") as String?) == Presence.away.rawValue
    lastUsedAt = try row.time("last_used_at")
    lookedAt = try row.time("looked_at")
  }

  /// A page of an application's users, after the one with this id.
  static func page(of application: String, after id: Int64, in db: PostgreSQLWork) throws -> [UserSummary] {
    try db.all(
      """
      SELECT app_user.*, phone.display_name, phone.registered_at, phone.presence, phone.looked_at FROM app_user
      LEFT JOIN phone ON phone.user_id = app_user.id AND phone.cut_off_at IS NULL
      WHERE app_user.application = $1 AND app_user.id > $2 ORDER BY app_user.id LIMIT $3
      """, application, id, pageLength
    ).map(UserSummary.init(row:))
  }

  static func find(_ id: Int64, of application: String, in db: PostgreSQLWork) throws -> UserSummary? {
    try db.first(
      """
      SELECT app_user.*, phone.display_name, phone.registered_at, phone.presence, phone.looked_at FROM app_user
      LEFT JOIN phone ON phone.user_id = app_user.id AND phone.cut_off_at IS NULL
      WHERE app_user.id = $1 AND app_user.application = $2
      """, id, application
    ).map(UserSummary.init(row:))
  }
}

extension SessionSummary {
  /// - Parameter user: nil for everybody's.
  static func live(of user: Int64? = nil, in db: PostgreSQLWork) throws -> [SessionSummary] {
    let sql: StaticString = """
      SELECT session.*, application.name AS application_name, phone.display_name FROM session
      JOIN application ON application.id = session.application
      LEFT JOIN phone ON phone.user_id = session.user_id AND phone.cut_off_at IS NULL
      WHERE session.ended_at IS NULL AND session.approved_at IS NOT NULL
        AND ($1::bigint IS NULL OR session.user_id = $1::bigint)
      ORDER BY session.approved_at DESC LIMIT $2
      """
    return try db.all(sql, user, greatestCount).map { row in
      try SessionSummary(
        session: Session(row: row), application: row.get("application_name"), phone: row.get("display_name"))
    }
  }
}
