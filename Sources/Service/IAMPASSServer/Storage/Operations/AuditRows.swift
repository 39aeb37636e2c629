import IAMPASSProtocol

extension AuditEntry {
  init(row: some StorageRow) throws {
    id = try row.get("id")
    at = try UnixTime(milliseconds: row.get("at"))
    event = try row.get("event")
    actor = try (row.get("actor") as String?).map(AuditActor.init(stored:))
    details = try Self.names.compactMap { name in
      let value = try name == "user" ? (row.get("user_id") as Int64?).map(String.init) : row.get(name)
      return value.map { (name, $0) }
    }
  }

  /// The entry that was last noted before this service time; nil if there is none.
  static func last(notedBefore time: UnixTime, in db: some StorageTransaction) throws -> Int64? {
    try db.first(
      "SELECT id FROM audit WHERE noted_at < $1 ORDER BY noted_at DESC, id DESC LIMIT 1", time.milliseconds)?.get("id")
  }

  /// Adds an entry for what changes no row that has a trigger.
  static func note(_ event: NotedEvent, from address: String? = nil, at now: UnixTime, in db: some StorageTransaction)
    throws
  {
    try db.execute(
      "INSERT INTO audit (at, event, address) VALUES ($1, $2, $3)", now.milliseconds, event.rawValue, address)
  }

  /// Adds an entry to a database that is given up, and so to the one that follows it.
  static func noteMove(by actor: AuditActor, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      "INSERT INTO audit (at, event, actor) VALUES ($1, $2, $3)", now.milliseconds,
      NotedEvent.databaseMoved.rawValue, actor.text)
  }

  /// For a statement that also says `user_name`.
  init(naming row: some StorageRow) throws {
    try self.init(row: row)
    userName = try row.get("user_name")
  }

  /// - Parameter now: service time. Entries are dated by the wall clock.
  /// - Returns: the number of deleted entries.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    let end = now.advanced(seconds: -lifetime)
    try SignInCount.prune(notedBefore: end, in: db)
    return try db.change(
      """
      DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE noted_at < $1 ORDER BY noted_at LIMIT $2)
      RETURNING noted_at
      """, end.milliseconds, Forgettable.portion
    ).count
  }
}

extension StorageEngine {
  /// Notes that a copy of everything was made.
  public func noteBackup() async throws {
    let now = now()
    try await write { try AuditEntry.note(.backupMade, at: now, in: $0) }
  }

  /// Entries with greater ids, the oldest first: for reading all of them in portions.
  public func auditEntries(after id: Int64, limit: Int = 1_000) async throws -> [AuditEntry] {
    try await read { db in
      try db.all(
        """
        SELECT audit.*, coalesce(listed_user.name, app_user.told_name) AS user_name FROM audit
        LEFT JOIN app_user ON app_user.id = audit.user_id
        LEFT JOIN listed_user ON listed_user.user_id = app_user.id
        WHERE audit.id > $1 ORDER BY audit.id LIMIT $2
        """, id, limit
      ).map(AuditEntry.init(naming:))
    }
  }

  /// An id of the audit after which all entries of `time` and later are, with some older ones. Continue there with
  /// ``auditEntries(after:limit:)``.
  ///
  /// - Parameter time: by the wall clock, as ``AuditEntry/at``.
  public func auditPlace(before time: UnixTime) async throws -> Int64 {
    let noted = notedTime(before: time)
    return try await read { try AuditEntry.last(notedBefore: noted, in: $0) ?? 0 }
  }

  /// Entries are found by the service time at which they were noted. All entries of `time` and later were noted after it.
  ///
  /// - Parameter time: by the wall clock, as ``AuditEntry/at``.
  func notedTime(before time: UnixTime) -> UnixTime {
    let now = now()
    let offset = clock.unixTime(of: now).milliseconds(since: now)
    return UnixTime(milliseconds: time.milliseconds - offset - AuditFilter.slack)
  }

  /// Kept answers of phones, oldest first, each as a line of JSON with the number to continue after.
  public func keptAnswers(after id: Int64, limit: Int = 1_000) async throws -> [(id: Int64, jsonLine: String)] {
    try await read { [clock] db in
      let rows = try db.all(
        "SELECT number AS place, * FROM answer WHERE number > $1 ORDER BY number LIMIT $2", id, limit)
      return try rows.map { (try $0.get("place"), JSON.object(try AnswerProof(row: $0, clock).members).printed()) }
    }
  }

  func auditEntries(_ query: HostAuditQuery) async throws -> [AuditEntry] {
    let noted = notedTime(before: UnixTime(milliseconds: query.since))
    return try await read { db in
      // Without it a page that is not full would read the computer's entries to the oldest.
      let place = try AuditEntry.last(notedBefore: noted, in: db) ?? 0
      return try db.all(
        "SELECT * FROM audit WHERE credential_id = $1 AND id < $2 AND id > $3 AND at >= $4 ORDER BY id DESC LIMIT $5",
        query.credential, query.before, place, query.since, HostAuditQuery.greatestCount
      ).map(AuditEntry.init(row:))
    }
  }

  /// Entries, newest first; only those before this id, if it is given.
  func newestAuditEntries(before id: Int64? = nil, limit: Int) async throws -> [AuditEntry] {
    try await read { db in
      try db.all(
        """
        SELECT audit.*, coalesce(listed_user.name, app_user.told_name) AS user_name FROM audit
        LEFT JOIN app_user ON app_user.id = audit.user_id
        LEFT JOIN listed_user ON listed_user.user_id = app_user.id
        WHERE audit.id < $1 ORDER BY audit.id DESC LIMIT $2
        """, id ?? Int64.max, limit
      ).map(AuditEntry.init(naming:))
    }
  }
}
