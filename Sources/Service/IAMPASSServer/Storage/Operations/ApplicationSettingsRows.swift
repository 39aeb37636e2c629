import IAMPASSProtocol

extension MatchCodes {
  /// The stored value. It was once a truth value.
  var stored: Int64 {
    switch self {
    case .off: 0
    case .on: 1
    case .required: 2
    }
  }

  /// A value of a later version counts as the strictest.
  init(stored: Int64) { self = Self.allCases.first { $0.stored == stored } ?? .required }
}

extension ApplicationSettings {
  init(row: some StorageRow) throws {
    walkaway = try row.get("walkaway")
    silenceLeaves = try row.get("silence_leaves")
    matchCodes = try MatchCodes(stored: row.get("match_code"))
    answerTime = try row.get("answer_time")
    greatestDuration = try row.get("greatest_duration")
    hook = try row.get("hook")
    appsVouchForFaces = try row.get("face")
    phones = try row.get("phones")
    holdsClones = try row.get("hold_clones")
    acceptsSyncedPasskeys = try row.get("synced_passkeys")
    isDisabled = try (row.get("disabled_at") as Int64?) != nil
  }

  static func of(_ application: String, in db: some StorageTransaction) throws -> ApplicationSettings {
    let row = try db.first("SELECT * FROM application WHERE id = $1", application)
    return try row.map(ApplicationSettings.init(row:)) ?? ApplicationSettings()
  }

  static func ofUser(_ user: Int64, in db: some StorageTransaction) throws -> ApplicationSettings {
    let row = try db.first(
      """
      SELECT application.* FROM application JOIN app_user ON app_user.application = application.id
      WHERE app_user.id = $1
      """, user)
    return try row.map(ApplicationSettings.init(row:)) ?? ApplicationSettings()
  }

  func store(for application: String, in db: some StorageTransaction) throws {
    try db.execute(
      """
      UPDATE application SET walkaway = $1, silence_leaves = $2, match_code = $3, answer_time = $4,
        greatest_duration = $5, hook = $6, face = $7, phones = $8, hold_clones = $9, synced_passkeys = $10 WHERE id = $11
      """, walkaway, silenceLeaves, matchCodes.stored, answerTime, greatestDuration, hook,
      appsVouchForFaces, phones, holdsClones, acceptsSyncedPasskeys, application)
  }

  /// Refuses sign-ins from now on, or allows them again. Unanswered requests are closed.
  static func setDisabled(
    _ isDisabled: Bool, _ application: String, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [Session] {
    try db.execute(
      "UPDATE application SET disabled_at = $1 WHERE id = $2", (isDisabled ? now.milliseconds : nil) as Int64?,
      application)
    guard isDisabled else { return [] }
    let sql: StaticString = "SELECT * FROM session WHERE application = $1 AND ended_at IS NULL AND approved_at IS NULL"
    let meant = try db.all(sql, application).map(UnendedSession.init(row:))
    return try UnendedSession.close(meant, .applicationDisabled, at: now, in: db)
  }
}
