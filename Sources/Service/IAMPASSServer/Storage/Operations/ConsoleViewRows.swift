import DeviceProtocol
import IAMPASSProtocol

extension ApplicationSummary {
  /// - Parameter id: nil for all, sorted by name.
  static func find(_ id: String? = nil, in db: some StorageTransaction) throws -> [ApplicationSummary] {
    let sql: StaticString = """
      SELECT application.*,
        coalesce((SELECT kept_count.count FROM kept_count WHERE kept_count.application = application.id
          AND kind = 'users'), 0) AS users,
        coalesce((SELECT kept_count.count FROM kept_count WHERE kept_count.application = application.id
          AND kind = 'live'), 0) AS live_sessions
      FROM application WHERE $1::text IS NULL OR id = $1::text ORDER BY name
      """
    return try db.all(sql, id).map { row in
      try ApplicationSummary(
        id: row.get("id"), name: row.get("name"), users: row.get("users"), liveSessions: row.get("live_sessions"),
        settings: ApplicationSettings(row: row))
    }
  }
}

extension UserSummary {
  init(row: some StorageRow) throws {
    id = try row.get("id")
    known = try KnownUser(
      listed: row.get("listed_name"), told: row.get("told_name"), called: row.get("called"), id: row.get("name"))
    groups = try (row.get("groups") as String?) ?? " "
    phone = try row.get("display_name")
    registeredAt = try row.time("registered_at")
    isAway = try (row.get("presence") as String?) == Presence.away.rawValue
    lastUsedAt = try row.time("last_used_at")
  }

  /// The users with these ids, in the order of the ids.
  static func find(_ ids: [Int64], in db: some StorageTransaction) throws -> [UserSummary] {
    guard !ids.isEmpty else { return [] }
    let found = try db.all(
      """
      SELECT app_user.*, phone.display_name, phone.registered_at, phone.presence, listed_user.name AS listed_name,
        listed_user.groups,
        coalesce(phone.display_name,
          (SELECT one.display_name FROM link AS one WHERE one.user_id = app_user.id ORDER BY one.expires_at DESC LIMIT 1),
          (SELECT one.display_name FROM phone AS one WHERE one.user_id = app_user.id
            ORDER BY one.registered_at DESC LIMIT 1)) AS called
      FROM app_user
      LEFT JOIN phone ON phone.id = (SELECT one.id FROM phone AS one WHERE one.user_id = app_user.id
        AND one.cut_off_at IS NULL ORDER BY one.registered_at, one.number LIMIT 1)
      LEFT JOIN listed_user ON listed_user.user_id = app_user.id
      WHERE app_user.id IN (SELECT value::bigint FROM json_array_elements_text($1::json))
      """, ids
    ).map(UserSummary.init(row:))
    let byID = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
    return ids.compactMap { byID[$0] }
  }

  static func find(_ id: Int64, of application: String, in db: some StorageTransaction) throws -> UserSummary? {
    guard try db.has("SELECT id FROM app_user WHERE id = $1 AND application = $2", id, application) else { return nil }
    return try find([id], in: db).first
  }

  /// A page of an application's users, after the one with this id, and the user after whom to continue.
  static func page(
    of application: String, after id: Int64, matching text: String, reach: Int = reach, in db: some StorageTransaction
  ) throws -> (users: [UserSummary], further: Int64?) {
    guard !text.isEmpty else {
      let ids: [Int64] = try db.all(
        "SELECT id FROM app_user WHERE application = $1 AND id > $2 ORDER BY id LIMIT $3", application, id, pageLength
      ).map { try $0.get("id") }
      return (try find(ids, in: db), ids.count == pageLength ? ids.last : nil)
    }
    // The last user whom the search looks at; nil if it looks at all the others.
    let last: Int64? = try db.first(
      "SELECT id FROM app_user WHERE application = $1 AND id > $2 ORDER BY id LIMIT 1 OFFSET $3", application, id,
      reach - 1)?.get("id")
    let ids: [Int64] = try db.all(
      """
      SELECT app_user.id FROM app_user
      LEFT JOIN phone ON phone.id = (SELECT one.id FROM phone AS one WHERE one.user_id = app_user.id
        AND one.cut_off_at IS NULL ORDER BY one.registered_at, one.number LIMIT 1)
      LEFT JOIN listed_user ON listed_user.user_id = app_user.id
      WHERE app_user.application = $1 AND app_user.id > $2 AND app_user.id <= $3
        AND strpos(lower(coalesce(listed_user.name, app_user.name) || ' '
          || coalesce(app_user.told_name || ' ', '') || coalesce(phone.display_name,
            (SELECT one.display_name FROM link AS one WHERE one.user_id = app_user.id
              ORDER BY one.expires_at DESC LIMIT 1),
            (SELECT one.display_name FROM phone AS one WHERE one.user_id = app_user.id
              ORDER BY one.registered_at DESC LIMIT 1), '')
          || coalesce(listed_user.groups, '')), lower($4::text)) > 0
      ORDER BY app_user.id LIMIT $5
      """, application, id, last ?? Int64.max, text, pageLength
    ).map { try $0.get("id") }
    return (try find(ids, in: db), ids.count == pageLength ? ids.last : last)
  }
}

extension ComputerSummary {
  /// The computers with these credentials, in their order.
  static func find(_ ids: [String], at now: UnixTime, in db: some StorageTransaction) throws -> [ComputerSummary] {
    guard !ids.isEmpty else { return [] }
    let sql: StaticString = """
      SELECT host_credential.*, application.name AS shown, host_report.software,
        coalesce(host_report.list_version, 0) AS told_version, CASE WHEN host_report.list_epoch IS NULL
          THEN coalesce(user_list.version, 0) ELSE coalesce((SELECT (head::json ->> 'number')::bigint FROM signed_list
            WHERE signed_list.application = host_credential.application ORDER BY serial DESC LIMIT 1), 0) END AS list_version,
        host_mark.address AS mark_address, other_address, forked_at, coalesce(are_both_used, 0) AS are_both_used,
        (SELECT count(*) FROM session /*SQLite INDEXED BY live_session_of_credential */
          WHERE session.credential = host_credential.id AND ended_at IS NULL AND approved_at IS NOT NULL) AS live_sessions,
        (SELECT coalesce(sum(held_back), 0)::bigint FROM session WHERE session.credential = host_credential.id
          AND started_at > $1 AND held_back > 0) AS held_back
      FROM host_credential JOIN application ON application.id = host_credential.application
      LEFT JOIN host_report ON host_report.credential = host_credential.id
      LEFT JOIN host_mark ON host_mark.credential = host_credential.id
      LEFT JOIN user_list ON user_list.application = host_credential.application
      WHERE host_credential.id IN (SELECT value FROM json_array_elements_text($2::json))
      """
    let found = try db.all(sql, now.advanced(seconds: -86_400).milliseconds, ids).map { row -> ComputerSummary in
      let credential = try KnownCredential(row: row)
      return try ComputerSummary(
        credential: credential, application: row.get("shown"), liveSessions: row.get("live_sessions"),
        heldBack: row.get("held_back"),
        report: (row.get("software") as String?).map { software in
          HostReport(credential: credential.id, software: software, listVersion: try row.get("told_version"))
        },
        listVersion: row.get("list_version"), copy: Copy(row: row))
    }
    let byID = Dictionary(found.map { ($0.credential.id, $0) }) { first, _ in first }
    return ids.compactMap { byID[$0] }
  }
}

extension ComputerSummary.Copy {
  fileprivate init?(row: some StorageRow) throws {
    guard let firstAt = try row.time("forked_at") else { return nil }
    try self.init(
      address: row.get("mark_address"), otherAddress: row.get("other_address"), firstAt: firstAt,
      areBothUsed: row.get("are_both_used"))
  }
}

extension SignInCount {
  /// - Parameter day: the first one, in days since 1970.
  static func all(since day: Int64, in db: some StorageTransaction) throws -> [SignInCount] {
    try db.all("SELECT day, result, count FROM sign_in_count WHERE day >= $1 ORDER BY day, result", day).map { row in
      guard let result = AuditFilter.Result(rawValue: try row.get("result")) else { throw DamagedRow(column: "result") }
      return SignInCount(day: try row.get("day"), result: result, count: try row.get("count"))
    }
  }

  /// Deletes the counts of the days whose last sign-in was noted before this service time. They are few.
  static func prune(notedBefore time: UnixTime, in db: some StorageTransaction) throws {
    _ = try db.change("DELETE FROM sign_in_count WHERE noted_at < $1 RETURNING noted_at", time.milliseconds)
  }
}
