import IAMPASSProtocol

extension AuditPage {
  /// - Parameter offset: how far the wall clock is behind service time, in milliseconds.
  init(_ filter: AuditFilter, before id: Int64?, limit: Int, offset: Int64, in db: some StorageTransaction) throws {
    // The first and the last entry of those days, and more.
    func place(_ day: UnixTime, plus slack: Int64) throws -> Int64? {
      try AuditEntry.last(notedBefore: UnixTime(milliseconds: day.milliseconds - offset + slack), in: db)
    }
    let newest = try db.first("SELECT id FROM audit WHERE id < $1 ORDER BY id DESC LIMIT 1", id ?? Int64.max)
    let until = try filter.until.map { try place($0, plus: AuditFilter.slack) ?? 0 } ?? Int64.max
    let end = min(try newest?.get("id") ?? 0, until) + 1
    let first = (try filter.from.flatMap { try place($0, plus: -AuditFilter.slack) } ?? 0) + 1
    if filter.isForAllRefusals {
      entries = try AuditEntry.refusals(filter, from: first, before: end, limit: limit, in: db)
      further = entries.count == limit ? entries.last?.id : nil
      return
    }
    let begin = max(first, end - filter.reach)
    entries = try AuditEntry.find(filter, from: begin, before: end, limit: limit, in: db)
    further = entries.count == limit ? entries.last?.id : begin > first ? begin : nil
  }
}

extension AuditEntry {
  fileprivate static func find(
    _ filter: AuditFilter, from first: Int64, before id: Int64, limit: Int, in db: some StorageTransaction
  ) throws -> [AuditEntry] {
    try db.all(
      """
      SELECT entry.*, app_user.name AS user_token, app_user.told_name, listed_user.name AS listed_name,
        coalesce(
          (SELECT one.display_name FROM phone AS one WHERE one.user_id = app_user.id
            ORDER BY one.cut_off_at IS NULL DESC, one.registered_at DESC LIMIT 1),
          (SELECT one.display_name FROM link AS one WHERE one.user_id = app_user.id ORDER BY one.expires_at DESC LIMIT 1)
        ) AS called
      FROM (
        SELECT * FROM audit WHERE id < $1 AND id >= $8
          AND ($2::text = '' OR strpos(lower(coalesce(account, '') || ' ' || coalesce(phone, '') || ' '
            || coalesce(administrator, '') || ' ' || coalesce(
              (SELECT one.told_name FROM app_user AS one WHERE one.id = audit.user_id), '')), lower($2::text)) > 0
            OR strpos($2::text, ':') > 0 AND strpos(lower(coalesce(actor, '')), lower($2::text)) = 1)
          AND ($3::text = '' OR strpos(lower(coalesce(host, '') || ' ' || coalesce(credential, '')), lower($3::text)) > 0)
          AND ($4::text = '' OR $4::text = event
            OR $4::text = 'not answered' AND event = 'ended' AND reason = 'NOT_ANSWERED'
            OR $4::text = 'changes' AND administrator IS NOT NULL)
          AND at >= $5 AND at < $6
        ORDER BY id DESC LIMIT $7
      ) AS entry
      LEFT JOIN app_user ON app_user.id = entry.user_id
      LEFT JOIN listed_user ON listed_user.user_id = app_user.id
      ORDER BY entry.id DESC
      """, id, filter.user, filter.computer, filter.result?.rawValue ?? "",
      filter.from?.milliseconds ?? 0, filter.until?.milliseconds ?? Int64.max, limit, first
    ).map(AuditEntry.init(knowing:))
  }

  /// Refusals of these days, whoever's and wherever. An index has them.
  fileprivate static func refusals(
    _ filter: AuditFilter, from first: Int64, before id: Int64, limit: Int, in db: some StorageTransaction
  ) throws -> [AuditEntry] {
    try db.all(
      """
      SELECT entry.*, app_user.name AS user_token, app_user.told_name, listed_user.name AS listed_name,
        coalesce(
          (SELECT one.display_name FROM phone AS one WHERE one.user_id = app_user.id
            ORDER BY one.cut_off_at IS NULL DESC, one.registered_at DESC LIMIT 1),
          (SELECT one.display_name FROM link AS one WHERE one.user_id = app_user.id ORDER BY one.expires_at DESC LIMIT 1)
        ) AS called
      FROM (
        SELECT * FROM audit WHERE event = 'denied' AND id < $1 AND id >= $2 AND at >= $3 AND at < $4
        ORDER BY id DESC LIMIT $5
      ) AS entry
      LEFT JOIN app_user ON app_user.id = entry.user_id
      LEFT JOIN listed_user ON listed_user.user_id = app_user.id
      ORDER BY entry.id DESC
      """, id, first, filter.from?.milliseconds ?? 0, filter.until?.milliseconds ?? Int64.max, limit
    ).map(AuditEntry.init(knowing:))
  }

  /// For a statement that also has the user as the service knows them now.
  private init(knowing row: some StorageRow) throws {
    try self.init(row: row)
    known = try (row.get("user_token") as String?).map { token in
      try KnownUser(
        listed: row.get("listed_name"), told: row.get("told_name"), called: row.get("called"), id: token)
    }
  }
}
