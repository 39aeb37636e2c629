import GRDB
import IAMPASSProtocol

extension User {
  init(row: Row) throws {
    id = try row.get("id")
    application = try row.get("application")
    name = try row.get("name")
    locum = try (row.get("locum_phone") as String?).map { phone in
      let locum = try Locum(phone: phone, user: row.get("locum_user"), name: row.get("locum_name"))
      return (locum, until: UnixTime(milliseconds: try row.get("locum_until")))
    }
  }

  /// The application's user with this number; nil if the number is another application's user.
  static func find(_ id: Int64, application: String, in db: Database) throws -> User? {
    try db.firstRow("SELECT * FROM user WHERE id = ? AND application = ?", [id, application]).map(User.init(row:))
  }

  static func find(_ name: String, application: String, in db: Database) throws -> User? {
    try db.firstRow("SELECT * FROM user WHERE application = ? AND name = ?", [application, name]).map(User.init(row:))
  }

  /// Whether the user is new.
  static func add(_ name: String, application: String, in db: Database) throws -> Bool {
    try db.execute(
      sql: "INSERT OR IGNORE INTO user (id, application, name) SELECT id + 1, ?, ? FROM greatest_user",
      arguments: [application, name])
    return db.changesCount == 1
  }

  /// Removes the user with phone and links, and closes the sessions.
  ///
  /// - Returns: the sessions that were live.
  func delete(at now: UnixTime, in db: Database) throws -> [Session] {
    let closed = try Session.close(all: .live, of: id, .userDeleted, at: now, in: db)
    try Phone.cutOff(user: id, at: now, in: db)
    try db.execute(sql: "DELETE FROM user WHERE id = ?", arguments: [id])
    return closed
  }
}
