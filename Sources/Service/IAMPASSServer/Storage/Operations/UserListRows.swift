import IAMPASSProtocol

extension ListedUser {
  fileprivate init(row: some StorageRow, isNew: Bool = false) throws {
    let groups: String = try row.get("groups")
    try self.init(
      name: row.get("name"), groups: groups.split(separator: " ").map(String.init), hasPhone: row.get("has_phone"),
      isNew: isNew)
  }

  /// - Parameter application: its id.
  fileprivate static func find(
    _ name: String, of application: String, isNew: Bool = false, in db: some StorageTransaction
  ) throws -> ListedUser? {
    try db.first(
      """
      SELECT listed_user.name AS name, listed_user.groups AS groups,
        (SELECT count(*) FROM phone WHERE phone.user_id = listed_user.user_id AND phone.cut_off_at IS NULL) AS has_phone
      FROM listed_user WHERE application = $1 AND user_id IS NOT NULL AND name = $2
      """, application, name
    ).map { try ListedUser(row: $0, isNew: isNew) }
  }
}

extension UserListRow {
  fileprivate init(row: some StorageRow) throws {
    let token: String? = try row.get("token")
    try self.init(name: row.get("name"), token: token, groups: row.get("groups"))
  }
}

extension StorageEngine {
  public func listUser(_ order: UserListOrder) async throws -> ListedUser {
    if let refusal = order.refusal { throw refusal }
    let fresh = try RandomValue.identifier()
    let now = now()
    return try await write { db in
      let application = try Self.application(order.application, in: db)
      // Two changes at once come one after the other, each with a version of its own.
      _ = try db.change(
        """
        INSERT INTO user_list (application, version) VALUES ($1, 1)
        ON CONFLICT (application) DO UPDATE SET version = user_list.version RETURNING version
        """, application)
      let known = try db.first(
        "SELECT * FROM listed_user WHERE application = $1 AND name = $2", application, order.name)
      let user: Int64? = try known?.get("user_id")
      let former: String? = try known?.get("groups")
      let isNew = user == nil
      let groups = order.groups(replacing: isNew ? nil : former)
      if isNew || former != groups {
        let id: Int64
        if let user {
          id = user
        } else {
          _ = try User.add([fresh], application: application, in: db)
          guard let made = try User.find(fresh, application: application, in: db) else {
            throw UserListRefusal.unknownUser
          }
          id = made.id
        }
        try db.execute("UPDATE user_list SET version = version + 1 WHERE application = $1", application)
        try db.execute(
          """
          INSERT INTO listed_user (application, name, user_id, groups, version, changed_at)
          VALUES ($1, $2, $3, $4, (SELECT version FROM user_list WHERE application = $1), $5)
          ON CONFLICT (application, name)
          DO UPDATE SET user_id = excluded.user_id, groups = excluded.groups, version = excluded.version,
            changed_at = excluded.changed_at
          """, application, order.name, id, groups, now.milliseconds)
      }
      guard let listed = try ListedUser.find(order.name, of: application, isNew: isNew, in: db) else {
        throw UserListRefusal.unknownUser
      }
      return listed
    }
  }

  public func removeListedUser(_ name: String, of application: String, at now: UnixTime) async throws {
    let (token, application) = try await tokenOfListed(name, of: application)
    _ = try await deleteUsers([token], of: application, at: now)
  }

  public func listedUsers(of application: String) async throws -> [ListedUser] {
    try await read { db in
      let application = try Self.application(application, in: db)
      return try db.all(
        """
        SELECT listed_user.name AS name, listed_user.groups AS groups,
          (SELECT count(*) FROM phone WHERE phone.user_id = listed_user.user_id AND phone.cut_off_at IS NULL) AS has_phone
        FROM listed_user WHERE application = $1 AND user_id IS NOT NULL ORDER BY name COLLATE "C"
        """, application
      ).map { try ListedUser(row: $0) }
    }
  }

  func listedUsers(_ names: [String], of application: String) async throws -> [ListedUser] {
    try await read { db in
      func find(in db: some StorageTransaction) throws -> [ListedUser] {
        try names.compactMap { try ListedUser.find($0, of: application, in: db) }
      }
      try db.prefetch { _ = try find(in: $0) }
      return try find(in: db)
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

  func userListPage(_ query: UserListQuery) async throws -> UserListView {
    try await read { db in
      try db.prefetch { _ = try Self.heading(query, in: $0) }
      let (version, count, mark) = try Self.heading(query, in: db)
      // Nearly every computer has the newest list.
      let isNews = query.since == 0 || query.since < version
      let rows = try isNews ? Self.rows(query, in: db) : []
      return UserListView(page: query.page(of: rows, version: version, count: count), mark: mark)
    }
  }

  private static func heading(
    _ query: UserListQuery, in db: some StorageTransaction
  ) throws -> (version: Int64, count: Int64, mark: ServiceMark) {
    let list = try db.first("SELECT version, users FROM user_list WHERE application = $1", query.application)
    let version: Int64 = try list?.get("version") ?? 1
    let count: Int64
    if query.group.isEmpty {
      count = try list?.get("users") ?? 0
    } else {
      let group = try db.first(
        "SELECT users FROM user_group WHERE application = $1 AND name = $2", query.application, query.group)
      count = try group?.get("users") ?? 0
    }
    return (version, count, try HistoryMark.current(in: db))
  }

  /// The rows of a page. Names have ASCII letters alone; they are sorted by their bytes, as SQLite sorts them.
  private static func rows(_ query: UserListQuery, in db: some StorageTransaction) throws -> [UserListRow] {
    let rows =
      if query.since > 0 {
        // The changed rows are few: they come first, and are sorted then.
        try db.all(
          """
          WITH changed AS MATERIALIZED (
            SELECT name, groups, user_id FROM listed_user
            WHERE application = $1 AND version > $3 AND strpos(told_groups, $4) > 0)
          SELECT changed.name AS name, changed.groups AS groups, app_user.name AS token
          FROM changed LEFT JOIN app_user ON app_user.id = changed.user_id
          WHERE changed.name COLLATE "C" > $2 ORDER BY changed.name COLLATE "C" LIMIT $5
          """, query.application, query.after, query.since, query.group.isEmpty ? " " : " \(query.group) ",
          UserListQuery.greatestRows)
      } else if query.group.isEmpty {
        try db.all(
          """
          SELECT listed_user.name AS name, listed_user.groups AS groups, app_user.name AS token
          FROM listed_user JOIN app_user ON app_user.id = listed_user.user_id
          WHERE listed_user.application = $1 AND listed_user.name COLLATE "C" > $2
          ORDER BY listed_user.name COLLATE "C" LIMIT $3
          """, query.application, query.after, UserListQuery.greatestRows)
      } else {
        try db.all(
          """
          SELECT group_member.name AS name, listed_user.groups AS groups, app_user.name AS token
          FROM group_member JOIN listed_user ON listed_user.user_id = group_member.user_id
            AND listed_user.application = group_member.application
            AND listed_user.name COLLATE "C" = group_member.name
          JOIN app_user ON app_user.id = listed_user.user_id
          WHERE group_member.application = $1 AND group_member.group_name = $2 AND group_member.name > $3
          ORDER BY group_member.name LIMIT $4
          """, query.application, query.group, query.after, UserListQuery.greatestRows)
      }
    return try rows.map(UserListRow.init(row:))
  }

  func userListVersions() async throws -> UserListVersions {
    try await read { db in
      // A signature changes what computers are told, too, and so does a set of administrators.
      let rows = try db.all(
        """
        SELECT application, version + coalesce((SELECT max(serial) FROM signed_list
            WHERE signed_list.application = user_list.application), 0)
          + coalesce((SELECT max(set_number) FROM administrator_set), 0) AS version,
          (SELECT coalesce(max(id), 0) FROM audit) AS last_entry
        FROM user_list
        """)
      return UserListVersions(
        Dictionary(
          uniqueKeysWithValues: try rows.map { (try $0.get("application") as String, try $0.get("version") as Int64) }),
        lastAuditID: try rows.first?.get("last_entry"))
    }
  }

  func topics(inAuditAfter id: Int64, of applications: [String]) async throws -> Set<ChangeBoard.Topic> {
    try await read { db in
      let rows = try db.all(
        """
        SELECT audit.session AS session, audit.user_id AS user_id, session.locum_user AS locum_user
        FROM audit LEFT JOIN session ON session.id = audit.session
        WHERE audit.id > $1 AND audit.application IN (SELECT name FROM application
          WHERE id IN (SELECT value FROM json_array_elements_text($2::json)))
        """, id, applications)
      var topics: Set<ChangeBoard.Topic> = []
      for row in rows {
        let (session, user, locum): (String?, Int64?, Int64?) = (
          try row.get("session"), try row.get("user_id"), try row.get("locum_user")
        )
        if let session { topics.insert(.session(session)) }
        for user in [user, locum].compactMap(\.self) { topics.insert(.user(user)) }
      }
      return topics
    }
  }

  private func tokenOfListed(_ name: String, of application: String) async throws -> (String, String) {
    try await read { db in
      let application = try Self.application(application, in: db)
      let row = try db.first(
        """
        SELECT app_user.name AS token FROM listed_user JOIN app_user ON app_user.id = listed_user.user_id
        WHERE listed_user.application = $1 AND listed_user.name = $2
        """, application, name)
      guard let row else { throw UserListRefusal.unknownUser }
      return (try row.get("token"), application)
    }
  }

  private static func application(_ nameOrID: String, in db: some StorageTransaction) throws -> String {
    guard let found = try Application.find(nameOrID: nameOrID, in: db) else { throw UserListRefusal.unknownApplication }
    return found.id
  }
}
