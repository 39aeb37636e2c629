import DeviceProtocol

extension PresenceBySilence {
  /// The applications whose phones' silence counts.
  static func applications(in db: some StorageTransaction) throws -> Set<String> {
    let rows = try db.all("SELECT id FROM application WHERE silence_leaves <> 0 AND walkaway <> 0")
    return Set(try rows.map { try $0.get("id") })
  }

  /// Makes silence since the last look count only as far as the service was running, for the next phones by their ids.
  ///
  /// - Parameter limit: the most phones that are credited.
  static func beginToListen(_ check: inout Check, limit: Int, in db: some StorageTransaction) throws {
    var left = limit
    while left > 0, let credit = check.uncredited.first {
      let phones: [String] = try db.all(
        """
        SELECT phone.id FROM phone CROSS JOIN app_user
        WHERE app_user.id = phone.user_id AND phone.id > $1 AND phone.heard_at IS NOT NULL AND phone.cut_off_at IS NULL AND app_user.application = $2
        ORDER BY phone.id LIMIT $3
        """, credit.lastPhone, credit.application, left
      ).map { try $0.get("id") }
      if let last = phones.last {
        // A phone that was heard after this look keeps its time.
        try db.execute(
          """
          UPDATE phone SET heard_at = greatest(heard_at, least($1, heard_at + $2))
          WHERE id > $3 AND id <= $4 AND heard_at IS NOT NULL AND cut_off_at IS NULL
            AND EXISTS (SELECT 1 FROM app_user WHERE id = phone.user_id AND application = $5)
          """, check.time.milliseconds, credit.milliseconds, credit.lastPhone, last, credit.application)
        check.uncredited[0].lastPhone = last
      }
      if phones.count < left { check.uncredited.removeFirst() }
      left -= phones.count
    }
  }

  /// Notes that the phone is there. Its sessions come back if they left because of silence.
  static func markSeen(_ phone: Phone, at now: UnixTime, in db: some StorageTransaction) throws -> [Session] {
    // An explicit leave lasts until an explicit return. Read again: it may be newer than `phone`.
    let isBack = try db.has(
      "SELECT 1 FROM phone WHERE id = $1 AND is_silent <> 0 AND presence = $2", phone.id, Presence.present.rawValue)
    try db.execute("UPDATE phone SET heard_at = $1, is_silent = 0 WHERE id = $2", now.milliseconds, phone.id)
    guard isBack, let user = phone.user else { return [] }
    return try Session.move(allOf: phone.id, user: user, to: .present, at: now, in: db)
  }

  /// Makes the sessions of phones that were silent for too long leave, the longest silent first.
  ///
  /// - Parameter limit: the most phones that are read.
  /// - Returns: the changed sessions, and whether there are no further silent phones.
  static func leave(
    at now: UnixTime, limit: Int, in db: some StorageTransaction
  ) throws -> (moved: [Session], isLast: Bool) {
    let rows = try db.all(
      """
      SELECT phone.id, phone.user_id FROM phone JOIN app_user ON app_user.id = phone.user_id
      JOIN application ON application.id = app_user.application
      WHERE phone.cut_off_at IS NULL AND application.silence_leaves <> 0 AND application.walkaway <> 0
        AND phone.heard_at < $1 AND phone.is_silent = 0
      ORDER BY phone.heard_at LIMIT $2
      """, deadline(at: now).milliseconds, limit)
    var moved: [Session] = []
    for row in rows {
      let phone: String = try row.get("id")
      let user: Int64 = try row.get("user_id")
      try db.execute("UPDATE phone SET is_silent = 1 WHERE id = $1", phone)
      moved += try Session.move(allOf: phone, user: user, to: .away, at: now, in: db)
    }
    return (moved, rows.count < limit)
  }

  /// Whether the phone was silent; nil if the application does not count silence, so that nothing is written for each
  /// request. A silent phone is back even if the setting was switched off meanwhile.
  ///
  /// - Parameter isAsking: whether the phone asks for its requests. The silence of a phone that never did does not
  ///   count, because it may learn of them in another way.
  static func wasSilent(_ phone: Phone, isAsking: Bool, in db: some StorageTransaction) throws -> Bool? {
    try db.first(
      """
      SELECT phone.is_silent FROM phone JOIN app_user ON app_user.id = phone.user_id
      JOIN application ON application.id = app_user.application
      WHERE phone.cut_off_at IS NULL AND phone.id = $1 AND (phone.is_silent <> 0
        OR application.silence_leaves <> 0 AND application.walkaway <> 0 AND ($2 <> 0 OR phone.heard_at IS NOT NULL))
      """, phone.id, isAsking)?.get("is_silent")
  }
}
