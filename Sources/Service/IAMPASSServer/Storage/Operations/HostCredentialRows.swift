import IAMPASSProtocol

extension KnownCredential {
  init(row: some StorageRow) throws {
    try self.init(
      id: row.get("id"), application: row.get("application"), name: row.get("name"), host: row.get("host"),
      createdAt: UnixTime(milliseconds: row.get("created_at")), lastUsedAt: row.time("last_used_at"),
      revokedAt: row.time("revoked_at"), isOpenID: row.get("is_openid"), group: row.get("computer_group"))
  }
}

extension HostCredential {
  /// Its whole row.
  static func row<Transaction: StorageTransaction>(_ id: String, in db: Transaction) throws -> Transaction.Row? {
    try db.first("SELECT * FROM host_credential WHERE id = $1", id)
  }

  static func find(_ id: String, in db: some StorageTransaction) throws -> KnownCredential? {
    try row(id, in: db).map(KnownCredential.init(row:))
  }

  /// The usable credential of this name.
  static func usable(named name: String, of application: String, in db: some StorageTransaction) throws
    -> KnownCredential?
  {
    let sql: StaticString = "SELECT * FROM host_credential WHERE application = $1 AND name = $2 AND revoked_at IS NULL"
    return try db.first(sql, application, name).map(KnownCredential.init(row:))
  }

  /// Whether a usable credential has this name, or shows it on phones as its host. Upper and lower case are equal.
  static func isTaken(_ name: String, of application: String, in db: some StorageTransaction) throws -> Bool {
    // This compares ASCII, whatever the database's language: host names have no dotless i. Each half has its index.
    try db.has(
      """
      SELECT id FROM host_credential WHERE application = $1 AND revoked_at IS NULL
        AND lower(name COLLATE "C") = lower($2 COLLATE "C")
      UNION ALL SELECT id FROM host_credential WHERE application = $1 AND revoked_at IS NULL
        AND lower(host COLLATE "C") = lower($2 COLLATE "C")
      """, application, name)
  }

  static func all(of application: String, in db: some StorageTransaction) throws -> [KnownCredential] {
    let sql: StaticString =
      "SELECT * FROM host_credential WHERE application = $1 ORDER BY revoked_at IS NOT NULL, name, created_at"
    return try db.all(sql, application).map(KnownCredential.init(row:))
  }

  /// A page of them, in the same order.
  ///
  /// - Parameter place: how many come before.
  /// - Returns: the page, and the place of the next one; nil if there is none.
  static func page(
    of application: String, at place: Int64, in db: some StorageTransaction
  ) throws -> (credentials: [KnownCredential], further: Int64?) {
    // The number comes from an address, so it may be any.
    let place = max(0, min(place, greatestPlace))
    let found = try db.all(
      """
      SELECT * FROM host_credential WHERE application = $1 ORDER BY revoked_at IS NOT NULL, name, created_at
      LIMIT $2 OFFSET $3
      """, application, pageLength + 1, place
    ).map(KnownCredential.init(row:))
    return (Array(found.prefix(Int(pageLength))), found.count > pageLength ? place + pageLength : nil)
  }

  /// Deletes credentials that were revoked long ago, and that no session names. A session without its credential would
  /// be taken for one of the application's own secret.
  ///
  /// - Returns: the number of deleted credentials.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    try db.change(
      """
      DELETE FROM host_credential WHERE id IN (
        SELECT id FROM host_credential WHERE revoked_at < $1
          AND NOT EXISTS (SELECT 1 FROM session WHERE session.credential = host_credential.id)
        ORDER BY revoked_at LIMIT $2)
      RETURNING revoked_at
      """, now.advanced(seconds: -KeptAnswer.lifetime).milliseconds, Forgettable.portion
    ).count
  }

  func insert(in db: some StorageTransaction, _ seals: Seals) throws {
    try db.execute(
      """
      INSERT INTO host_credential (id, application, name, host, secret, created_at, is_openid, computer_group)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      """,
      known.id, known.application, known.name, known.host, seals.close(secret, at: .computer(known.id), in: db),
      known.createdAt.milliseconds, known.isOpenID, known.group)
  }

  /// Notes the use, unless that was recently done.
  static func use(_ id: String, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      "UPDATE host_credential SET last_used_at = $1 WHERE id = $2 AND coalesce(last_used_at, 0) <= $3",
      now.milliseconds, id, now.milliseconds - useInterval * 1_000)
  }
}

extension KnownCredential {
  /// False if another usable credential has that name.
  func rename(_ name: String, in db: some StorageTransaction) throws -> Bool {
    if let other = try HostCredential.usable(named: name, of: application, in: db), other.id != id { return false }
    try db.execute("UPDATE host_credential SET name = $1 WHERE id = $2", name, id)
    return true
  }

  /// Revokes the credential. Its unanswered requests are closed, because they may be a thief's.
  ///
  /// - Returns: the sessions that this closed.
  func revoke(at now: UnixTime, in db: some StorageTransaction) throws -> [Session] {
    try db.execute(
      "UPDATE host_credential SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", now.milliseconds, id)
    return try Session.closeUnanswered(
      """
      SELECT * FROM session /*SQLite INDEXED BY live_session_of_credential */
      WHERE ended_at IS NULL AND credential = $1
      """, id, at: now, in: db)
  }
}

extension KnownApplication {
  /// Replaces the secret. Unanswered requests with the old secret are closed, because they may be a thief's.
  ///
  /// - Returns: the sessions that this closed.
  func renew(
    _ secret: Secret, at now: UnixTime, in db: some StorageTransaction, _ seals: Seals
  ) throws -> [Session] {
    let stored = try seals.close(secret, at: .application(id), in: db)
    try db.execute("UPDATE application SET secret = $1 WHERE id = $2", stored, id)
    return try Session.closeUnanswered(
      "SELECT * FROM session WHERE ended_at IS NULL AND credential IS NULL AND application = $1", id, at: now, in: db)
  }
}

extension Session {
  fileprivate static func closeUnanswered(
    _ sql: StaticString, _ id: String, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [Session] {
    var closed: [Session] = []
    for one in try db.all(sql, id).map(UnendedSession.init(row:)) {
      guard var session = one.session else {
        guard one.isUnanswered else { continue }
        if let ended = try one.closeUnread(.credentialRevoked, at: now, in: db) { closed.append(ended) }
        continue
      }
      session.lifecycle.settle(at: now)
      if session.lifecycle.isUnanswered { session.lifecycle.close(.credentialRevoked, at: now) }
      guard session.lifecycle.endedAt != nil else { continue }
      try session.update(in: db)
      closed.append(session)
    }
    return closed
  }
}

extension StorageEngine {
  /// Makes an OpenID client of the application with this name or id. Its secret is shown only this once.
  ///
  /// - Parameter shown: the program's name on phones.
  public func createOpenIDClient(
    named name: String, shown: String, of application: String, at now: UnixTime
  ) async throws -> (client: HostCredential, secret: Secret) {
    let secret = try OpenIDSecret.new()
    let client = try await insertCredential(
      named: name, host: shown, secret: OpenIDSecret.stored(secret), isOpenID: true, of: application, at: now)
    return (client, secret)
  }

  /// Makes a credential for a computer of the application with this name or id. Its secret is shown only this once.
  public func createHostCredential(
    named name: String, host: String, of application: String, at now: UnixTime
  ) async throws -> HostCredential {
    try await insertCredential(
      named: name, host: host, secret: RandomValue.secret(), isOpenID: false, of: application, at: now)
  }

  private func insertCredential(
    named name: String, host: String, secret: Secret, isOpenID: Bool, of application: String, at now: UnixTime
  ) async throws -> HostCredential {
    guard HostCredential.isFit(name) else { throw HostCredentialRefusal.nameNotFit }
    guard HostCredential.isFit(host) else { throw HostCredentialRefusal.hostNotFit }
    let id = try RandomValue.identifier()
    return try await write { [seals] db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw HostCredentialRefusal.unknownApplication
      }
      guard try HostCredential.usable(named: name, of: application.id, in: db) == nil else {
        throw HostCredentialRefusal.nameTaken
      }
      let credential = HostCredential(
        id: id, application: application.id, name: name, host: host, secret: secret, createdAt: now, lastUsedAt: nil,
        revokedAt: nil, isOpenID: isOpenID)
      try credential.insert(in: db, seals)
      return credential
    }
  }

  /// The credentials sorted by name, usable ones first, with times for people.
  ///
  /// - Parameter areOpenID: whether to list OpenID clients, and not credentials of computers.
  public func hostCredentials(of application: String, areOpenID: Bool) async throws -> [KnownCredential] {
    try await read { [clock] db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw HostCredentialRefusal.unknownApplication
      }
      return try HostCredential.all(of: application.id, in: db).filter { $0.isOpenID == areOpenID }.map {
        $0.dated(by: clock)
      }
    }
  }

  /// Revokes the usable credential of this name. A running service closes its requests at its next look.
  ///
  /// - Parameter isOpenID: whether it is an OpenID client, and not a computer's credential.
  public func revokeHostCredential(
    named name: String, of application: String, isOpenID: Bool, at now: UnixTime
  ) async throws {
    try await write { db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw HostCredentialRefusal.unknownApplication
      }
      guard let credential = try HostCredential.usable(named: name, of: application.id, in: db),
        credential.isOpenID == isOpenID
      else { throw HostCredentialRefusal.unknownCredential }
      _ = try credential.revoke(at: now, in: db)
    }
  }
}
