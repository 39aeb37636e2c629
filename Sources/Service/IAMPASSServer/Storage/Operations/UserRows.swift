import IAMPASSProtocol

extension User {
  init(row: some StorageRow) throws {
    id = try row.get("id")
    application = try row.get("application")
    name = try row.get("name")
    locum = try (row.get("locum_phone") as String?).map { phone in
      let locum = try Locum(phone: phone, user: row.get("locum_user"), name: row.get("locum_name"))
      return (locum, until: UnixTime(milliseconds: try row.get("locum_until")))
    }
  }

  /// The application's user with this number; nil if the number is another application's user.
  static func find(_ id: Int64, application: String, in db: some StorageWork) throws -> User? {
    try db.first("SELECT * FROM app_user WHERE id = $1 AND application = $2", id, application).map(User.init(row:))
  }

  static func find(_ name: String, application: String, in db: some StorageWork) throws -> User? {
    try db.first("SELECT * FROM app_user WHERE application = $1 AND name = $2", application, name).map(User.init(row:))
  }

  /// Those of these names that are new, in their order.
  static func add(_ names: [String], application: String, in db: some StorageWork) throws -> [String] {
    try names.filter { name in
      let added = try db.change(
        """
        INSERT INTO app_user (id, application, name) SELECT id + 1, $1, $2 FROM greatest_user WHERE true
        ON CONFLICT (application, name) DO NOTHING RETURNING id
        """, application, name)
      return !added.isEmpty
    }
  }

  /// Removes the user with phone and links, and closes the sessions.
  ///
  /// - Returns: the sessions that were live.
  func delete(at now: UnixTime, in db: some StorageWork) throws -> [Session] {
    let closed = try Session.close(all: .live, of: id, .userDeleted, at: now, in: db)
    try Phone.cutOff(user: id, at: now, in: db)
    try db.execute("DELETE FROM app_user WHERE id = $1", id)
    return closed
  }
}
