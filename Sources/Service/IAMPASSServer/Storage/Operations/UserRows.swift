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
  static func find(_ id: Int64, application: String, in db: some StorageTransaction) throws -> User? {
    try db.first("SELECT * FROM app_user WHERE id = $1 AND application = $2", id, application).map(User.init(row:))
  }

  static func find(_ name: String, application: String, in db: some StorageTransaction) throws -> User? {
    try db.first("SELECT * FROM app_user WHERE application = $1 AND name = $2", application, name).map(User.init(row:))
  }

  /// Adds users. Returns the new names, in their order.
  ///
  /// - Parameter names: the users' names, each once.
  static func add(_ names: [String], application: String, in db: some StorageTransaction) throws -> [String] {
    let added: [String] = try db.change(
      """
      INSERT INTO app_user (id, application, name)
      SELECT (SELECT id FROM greatest_user) + row_number() OVER (), $1, value
      FROM json_array_elements_text($2::json)
      WHERE NOT EXISTS (SELECT 1 FROM app_user WHERE application = $1 AND name = value)
      ON CONFLICT (application, name) DO NOTHING RETURNING name
      """, application, names
    ).map { try $0.get("name") }
    // This compares bytes, as the database does: Swift treats two spellings of one letter as equal.
    let isNew = Set(added.map { Array($0.utf8) })
    return names.filter { isNew.contains(Array($0.utf8)) }
  }

  /// Stores users' names for people, in place of earlier ones.
  static func note(_ names: [AddUsersRequest.Name], application: String, in db: some StorageTransaction) throws {
    for one in names {
      let text = one.text.isEmpty ? nil : one.text
      try db.execute(
        """
        UPDATE app_user SET told_name = $1::text
        WHERE application = $2 AND name = $3 AND coalesce(told_name, '') <> coalesce($1::text, '')
        """, text, application, one.user)
    }
  }

  /// Removes those of these users that the application has, with phones and links, and closes their sessions.
  ///
  /// - Returns: the sessions that were live.
  static func delete(
    _ names: [String], of application: String, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [Session] {
    let users: [Int64] = try db.all(
      """
      SELECT id FROM app_user
      WHERE application = $1 AND name IN (SELECT value FROM json_array_elements_text($2::json))
      """, application, names
    ).map { try $0.get("id") }
    guard !users.isEmpty else { return [] }
    let closed = try UnendedSession.close(Session.endable(ofAny: users, in: db), .userDeleted, at: now, in: db)
    try Phone.cutOff(ofAny: users, at: now, in: db)
    try db.execute(
      "DELETE FROM app_user WHERE id IN (SELECT value::bigint FROM json_array_elements_text($1::json))", users)
    return closed
  }
}
