import GRDB
import IAMPASSProtocol

extension ListedUser {
  fileprivate static let query = """
    SELECT listed_user.name AS name, listed_user.groups AS groups,
      EXISTS (SELECT 1 FROM phone WHERE phone.user = listed_user.user AND phone.cut_off_at IS NULL) AS has_phone
    FROM listed_user WHERE application = ? AND user IS NOT NULL
    """

  fileprivate init(row: Row, isNew: Bool = false) throws {
    let groups: String = try row.get("groups")
    try self.init(
      name: row.get("name"), groups: groups.split(separator: " ").map(String.init), hasPhone: row.get("has_phone"),
      isNew: isNew)
  }
}

extension UserListRow {
  fileprivate init(row: Row) throws {
    let token: String? = row["token"]
    try self.init(name: row.get("name"), token: token, groups: row.get("groups"))
  }
}

extension SQLiteStorage: UserListPages {
  public func listUser(_ order: UserListOrder) async throws -> ListedUser {
    if let refusal = order.refusal { throw refusal }
    let fresh = try RandomValue.identifier()
    let now = now()
    return try await write { db in
      let application = try Self.application(order.application, in: db)
      let known = try db.firstRow(
        "SELECT * FROM listed_user WHERE application = ? AND name = ?", [application, order.name])
      var user: Int64?
      if let known { user = known["user"] }
      let former: String? = try known?.get("groups")
      let isNew = user == nil
      let groups = order.groups(replacing: isNew ? nil : former)
      if isNew || former != groups {
        let id: Int64
        if let user {
          id = user
        } else {
          _ = try User.add(fresh, application: application, in: db)
          guard let made = try User.find(fresh, application: application, in: db) else {
            throw UserListRefusal.unknownUser
          }
          id = made.id
        }
        try db.execute(
          sql: """
            INSERT INTO user_list (application, version) VALUES (?, 2)
            ON CONFLICT (application) DO UPDATE SET version = version + 1
            """, arguments: [application])
        try db.execute(
          sql: """
            INSERT INTO listed_user (application, name, user, groups, version, changed_at)
            VALUES (?1, ?2, ?3, ?4, (SELECT version FROM user_list WHERE application = ?1), ?5)
            ON CONFLICT (application, name)
            DO UPDATE SET user = excluded.user, groups = excluded.groups, version = excluded.version,
              changed_at = excluded.changed_at
            """, arguments: [application, order.name, id, groups, now.milliseconds])
      }
      guard let row = try db.firstRow(ListedUser.query + " AND name = ?", [application, order.name]) else {
        throw UserListRefusal.unknownUser
      }
      return try ListedUser(row: row, isNew: isNew)
    }
  }

  public func removeListedUser(_ name: String, of application: String, at now: UnixTime) async throws {
    let (token, application) = try await tokenOfListed(name, of: application)
    _ = try await deleteUsers([token], of: application, at: now)
  }

  public func listedUsers(of application: String) async throws -> [ListedUser] {
    try await read { db in
      let application = try Self.application(application, in: db)
      return try Row.fetchAll(db, sql: ListedUser.query + " ORDER BY name", arguments: [application]).map {
        try ListedUser(row: $0)
      }
    }
  }

  public func invitation(
    ofListed name: String, of application: String, isFurther: Bool, at now: UnixTime
  ) async throws -> Secret? {
    let (token, application) = try await tokenOfListed(name, of: application)
    guard let count = try await user(token, of: application)?.phones.count else { throw UserListRefusal.unknownUser }
    let greatest = isFurther ? try await settings(of: application).phones : 1
    guard count < greatest else { return nil }
    let code = Secret(try RandomValue.identifier())
    let order = LinkOrder(code: code, user: token, application: application, displayName: name, loss: nil)
    guard try await makeLink(order, at: now) != nil else { throw UserListRefusal.unknownUser }
    return code
  }

  func userListPage(_ ask: UserListAsk) async throws -> UserListReply {
    try await read { db in
      let version =
        try Int64.fetchOne(
          db, sql: "SELECT version FROM user_list WHERE application = ?", arguments: [ask.application]) ?? 1
      let group = ask.group.isEmpty ? " " : " \(ask.group) "
      let count =
        try Int64.fetchOne(
          db,
          sql: "SELECT count(*) FROM listed_user WHERE application = ? AND user IS NOT NULL AND instr(groups, ?) > 0",
          arguments: [ask.application, group]) ?? 0
      let sql = """
        SELECT listed_user.name AS name, listed_user.groups AS groups, user.name AS token
        FROM listed_user LEFT JOIN user ON user.id = listed_user.user
        WHERE listed_user.application = ?1 AND listed_user.name > ?2 AND (
          ?3 > 0 AND listed_user.version > ?3 AND instr(listed_user.told_groups, ?4) > 0
          OR ?3 = 0 AND listed_user.user IS NOT NULL AND instr(listed_user.groups, ?4) > 0)
        ORDER BY listed_user.name LIMIT ?5
        """
      let rows = try Row.fetchAll(
        db, sql: sql,
        arguments: [ask.application, ask.after, ask.since, group, UserListAsk.greatestRows]
      ).map(UserListRow.init(row:))
      return ask.page(of: rows, version: version, count: count)
    }
  }

  func userListVersions() async throws -> [String: Int64] {
    try await read { db in
      // A signature changes what computers are told, too, and so does a set of administrators.
      let sql = """
        SELECT application, version + coalesce((SELECT max(serial) FROM signed_list
            WHERE signed_list.application = user_list.application), 0)
          + coalesce((SELECT max(set_number) FROM administrator_set), 0) AS version
        FROM user_list
        """
      let rows = try Row.fetchAll(db, sql: sql)
      return Dictionary(
        uniqueKeysWithValues: try rows.map { (try $0.get("application") as String, try $0.get("version") as Int64) })
    }
  }

  private func tokenOfListed(_ name: String, of application: String) async throws -> (String, String) {
    try await read { db in
      let application = try Self.application(application, in: db)
      let sql = """
        SELECT user.name AS token FROM listed_user JOIN user ON user.id = listed_user.user
        WHERE listed_user.application = ? AND listed_user.name = ?
        """
      guard let row = try db.firstRow(sql, [application, name]) else { throw UserListRefusal.unknownUser }
      return (try row.get("token"), application)
    }
  }

  private static func application(_ nameOrID: String, in db: Database) throws -> String {
    guard let found = try Application.find(nameOrID: nameOrID, in: db) else { throw UserListRefusal.unknownApplication }
    return found.id
  }
}
