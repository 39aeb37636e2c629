import GRDB
import IAMPASSProtocol

extension Application {
  init(row: Row) throws {
    try self.init(id: row.get("id"), name: row.get("name"), secret: Secret(row.get("secret")))
  }

  /// The name of a user's application; empty where there is no such user.
  static func name(of user: Int64, in db: Database) throws -> String {
    let sql =
      "SELECT application.name FROM application JOIN user ON user.application = application.id WHERE user.id = ?"
    return try db.firstRow(sql, [user]).map { try $0.get("name") } ?? ""
  }

  static func find(_ id: String, in db: Database) throws -> Application? {
    try db.firstRow("SELECT * FROM application WHERE id = ?", [id]).map(Application.init(row:))
  }

  /// An id wins over a name: ids are random, and a name may be chosen to look like one.
  static func find(nameOrID text: String, in db: Database) throws -> Application? {
    if let application = try find(text, in: db) { return application }
    return try Row.fetchOne(db, sql: "SELECT * FROM application WHERE name = ?", arguments: [text])
      .map(Application.init(row:))
  }
}

extension SQLiteStorage {
  /// A new application. Its secret is to be shown this one time.
  public func createApplication(
    named name: String, matchCodes: MatchCodes = .on, at now: UnixTime
  ) async throws -> Application {
    let application = try Application(new: name)
    try await write { try application.insert(matchCodes, at: now, in: $0) }
    return application
  }

  /// Makes the application with the id and secret that its administrator's file has already. Done again, it changes
  /// nothing. Throws ``ApplicationRefusal``: another application may have the name.
  ///
  /// - Returns: whether it is new.
  public func take(_ application: Application, matchCodes: MatchCodes = .on, at now: UnixTime) async throws -> Bool {
    guard Application.isFit(application.name) else { throw ApplicationRefusal.nameNotFit }
    return try await write { db in
      if let known = try Application.find(application.id, in: db), known.name == application.name,
        known.secret == application.secret
      {
        return false
      }
      try application.insert(matchCodes, at: now, in: db)
      return true
    }
  }

  public func listedApplications() async throws -> [ListedApplication] {
    try await applications().map(ListedApplication.init)
  }

  /// Undoes ``createApplication(named:matchCodes:at:)`` where nobody has seen the secret: the name is free again.
  public func takeBack(_ application: Application, at now: UnixTime) async throws {
    try await write { db in
      try db.execute(sql: "DELETE FROM application WHERE id = ?", arguments: [application.id])
      try db.execute(
        sql: "INSERT INTO audit (at, event, application) VALUES (?, 'application taken back', ?)",
        arguments: [now.milliseconds, application.name])
    }
  }

  /// Changes an application's settings, for requests from now on; open ones keep theirs.
  public func set(_ change: SettingsChange, ofApplicationNamed name: String) async throws {
    try await write { db in
      try db.execute(
        sql: """
          UPDATE application SET match_code = coalesce(?, match_code), face = coalesce(?, face),
            phones = coalesce(?, phones), hold_clones = coalesce(?, hold_clones) WHERE name = ?
          """,
        arguments: [change.matchCodes?.stored, change.appsVouchForFaces, change.phones, change.holdsClones, name])
      guard db.changesCount == 1 else { throw ApplicationRefusal.nameUnknown }
    }
  }
}

extension Application {
  func insert(_ matchCodes: MatchCodes, at now: UnixTime, in db: Database) throws {
    let taken = try Bool.fetchOne(
      db, sql: "SELECT 1 FROM application WHERE name = ? OR id = ?", arguments: [name, id])
    guard taken == nil else { throw ApplicationRefusal.nameTaken }
    try db.execute(
      sql: "INSERT INTO application (id, name, secret, created_at, match_code) VALUES (?, ?, ?, ?, ?)",
      arguments: [id, name, secret.exposedValue, now.milliseconds, matchCodes.stored])
  }
}
