import IAMPASSProtocol

extension UserGroup {
  private init(row: some StorageRow) throws {
    try self.init(
      name: row.get("name"), users: row.get("users"), computers: row.get("computers"), codes: row.get("codes"))
  }

  /// Groups that have a user, a computer or a code: a group that lost the last one keeps its row.
  ///
  /// - Parameter name: the page begins after this name.
  fileprivate static func page(
    of application: String, after name: String, matching text: String, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [UserGroup] {
    try db.all(
      """
      SELECT * FROM (
        SELECT user_group.name AS name, users,
          (SELECT count(*) FROM host_credential WHERE host_credential.application = user_group.application
            AND computer_group = user_group.name AND revoked_at IS NULL AND is_openid = 0) AS computers,
          (SELECT count(*) FROM join_code WHERE join_code.application = user_group.application
            AND computer_group = user_group.name AND revoked_at IS NULL AND expires_at > $4
            AND uses > used) AS codes
        FROM user_group WHERE application = $1 AND user_group.name > $2
          AND ($3::text = '' OR strpos(lower(user_group.name), lower($3::text)) > 0)
      ) AS one WHERE users > 0 OR computers > 0 OR codes > 0 ORDER BY name LIMIT $5
      """, application, name, text, now.milliseconds, pageLength
    ).map(UserGroup.init(row:))
  }

  fileprivate static func find(
    _ name: String, of application: String, at now: UnixTime, in db: some StorageTransaction
  ) throws -> UserGroup? {
    try db.first(
      """
      SELECT user_group.name AS name, users,
        (SELECT count(*) FROM host_credential WHERE host_credential.application = user_group.application
          AND computer_group = user_group.name AND revoked_at IS NULL AND is_openid = 0) AS computers,
        (SELECT count(*) FROM join_code WHERE join_code.application = user_group.application
          AND computer_group = user_group.name AND revoked_at IS NULL AND expires_at > $3
          AND uses > used) AS codes
      FROM user_group WHERE application = $1 AND user_group.name = $2
      """, application, name, now.milliseconds
    ).map(UserGroup.init(row:))
  }
}

extension UserSummary {
  /// A page of a group's users, sorted by name.
  ///
  /// - Parameter name: the page begins after this name.
  fileprivate static func page(
    ofGroup group: String, of application: String, after name: String, in db: some StorageTransaction
  ) throws -> [UserSummary] {
    let ids: [Int64] = try db.all(
      """
      SELECT user_id FROM group_member WHERE application = $1 AND group_name = $2 AND name > $3 ORDER BY name LIMIT $4
      """, application, group, name, pageLength
    ).map { try $0.get("user_id") }
    return try find(ids, in: db)
  }
}

extension StorageEngine {
  func groups(of application: String, after name: String, matching text: String) async throws -> GroupPage? {
    let now = now()
    return try await read { db in
      guard let found = try Application.find(application, in: db) else { return nil }
      let groups = try UserGroup.page(of: application, after: name, matching: text, at: now, in: db)
      return GroupPage(
        application: found.name, groups: groups,
        further: groups.count == UserGroup.pageLength ? groups.last?.name : nil)
    }
  }

  func group(_ name: String, of application: String, usersAfter user: String) async throws -> GroupOverview? {
    let now = now()
    return try await read { db in
      guard let found = try Application.find(application, in: db),
        let group = try UserGroup.find(name, of: application, at: now, in: db)
      else { return nil }
      let users = try UserSummary.page(ofGroup: name, of: application, after: user, in: db)
      return GroupOverview(
        application: found.name, group: group, users: users,
        further: users.count == UserSummary.pageLength ? users.last?.known.name : nil)
    }
  }
}
