import IAMPASSProtocol

extension KnownApplication {
  init(row: some StorageRow) throws { try self.init(id: row.get("id"), name: row.get("name")) }
}

extension Application {
  /// The name of a user's application; empty if there is no such user.
  static func name(of user: Int64, in db: some StorageTransaction) throws -> String {
    try db.text(
      """
      SELECT application.name FROM application JOIN app_user ON app_user.application = application.id
      WHERE app_user.id = $1
      """, user) ?? ""
  }

  static func find(_ id: String, in db: some StorageTransaction) throws -> KnownApplication? {
    try db.first("SELECT * FROM application WHERE id = $1", id).map(KnownApplication.init(row:))
  }

  /// The same with its secret.
  static func whole<Transaction: StorageTransaction>(_ id: String, in db: Transaction, _ seals: Seals) throws
    -> Application?
  {
    let row = { (db: Transaction) in try db.first("SELECT * FROM application WHERE id = $1", id) }
    try db.prefetch { db in
      _ = try SealMark.stored(in: db)
      _ = try row(db)
    }
    return try row(db).map { row in
      try Application(
        id: id, name: row.get("name"), secret: seals.open(row.get("secret"), at: .application(id), in: db))
    }
  }

  /// An id has priority over a name: ids are random, but a name may be chosen to look like an id.
  static func find(nameOrID text: String, in db: some StorageTransaction) throws -> KnownApplication? {
    if let application = try find(text, in: db) { return application }
    return try db.first("SELECT * FROM application WHERE name = $1", text)
      .map(KnownApplication.init(row:))
  }
}

extension Application {
  func insert(
    _ matchCodes: MatchCodes, at now: UnixTime, in db: some StorageTransaction, _ seals: Seals
  ) throws {
    let taken = try db.has("SELECT 1 FROM application WHERE name = $1 OR id = $2", name, id)
    guard !taken else { throw ApplicationRefusal.nameTaken }
    try db.execute(
      "INSERT INTO application (id, name, secret, created_at, match_code) VALUES ($1, $2, $3, $4, $5)",
      id, name, seals.close(secret, at: .application(id), in: db), now.milliseconds, matchCodes.stored)
  }
}

extension StorageEngine {
  /// Makes an application. Its secret is shown only this once.
  public func createApplication(
    named name: String, matchCodes: MatchCodes = .on, at now: UnixTime
  ) async throws -> Application {
    let application = try Application(new: name)
    try await write { [seals] in try application.insert(matchCodes, at: now, in: $0, seals) }
    return application
  }

  /// Makes the application with the id and secret of its administrator's file. A second call changes nothing. Throws
  /// ``ApplicationRefusal``: another application may have the name.
  ///
  /// - Returns: whether it is new.
  public func take(_ application: Application, matchCodes: MatchCodes = .on, at now: UnixTime) async throws -> Bool {
    guard Application.isFit(application.name) else { throw ApplicationRefusal.nameNotFit }
    return try await write { [seals] db in
      if let known = try Application.whole(application.id, in: db, seals), known.name == application.name,
        known.secret == application.secret
      {
        return false
      }
      try application.insert(matchCodes, at: now, in: db, seals)
      return true
    }
  }

  public func listedApplications() async throws -> [ListedApplication] {
    try await applications().map(ListedApplication.init)
  }

  /// Undoes ``createApplication(named:matchCodes:at:)`` if the secret was not shown. The name is free again.
  public func takeBack(_ application: Application, at now: UnixTime) async throws {
    try await write { db in
      try db.execute("DELETE FROM application WHERE id = $1", application.id)
      try db.execute(
        "INSERT INTO audit (at, event, application) VALUES ($1, $2, $3)", now.milliseconds,
        NotedEvent.applicationTakenBack.rawValue, application.name)
    }
  }

  /// Changes an application's settings for new requests. Open requests keep theirs.
  public func set(_ change: SettingsChange, ofApplicationNamed name: String) async throws {
    try await write { db in
      let found = try db.change(
        """
        UPDATE application SET match_code = coalesce($1, match_code), face = coalesce($2, face),
          phones = coalesce($3, phones), hold_clones = coalesce($4, hold_clones),
          synced_passkeys = coalesce($5, synced_passkeys) WHERE name = $6
        RETURNING id
        """, change.matchCodes?.stored, change.appsVouchForFaces, change.phones, change.holdsClones,
        change.acceptsSyncedPasskeys, name)
      guard found.count == 1 else { throw ApplicationRefusal.nameUnknown }
    }
  }
}
