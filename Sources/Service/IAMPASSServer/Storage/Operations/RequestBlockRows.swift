extension RequestBlocks {
  static func of(_ user: Int64, at now: UnixTime, in db: some StorageTransaction) throws -> RequestBlocks {
    let reported = try db.first(
      "SELECT count(*) AS reported FROM source_block WHERE user_id = $1 AND until > $2", user, now.milliseconds)
    return RequestBlocks(
      denials: try Denials.recent(of: user, at: now, in: db).count,
      reportedSources: Int(try reported?.get("reported") as Int64? ?? 0))
  }

  /// - Returns: the lifted blocks. Nothing is stored if there were none.
  fileprivate static func lift(of user: User, at now: UnixTime, in db: some StorageTransaction) throws -> RequestBlocks
  {
    let blocks = try of(user.id, at: now, in: db)
    guard !blocks.isEmpty else { return blocks }
    try db.execute("DELETE FROM source_block WHERE user_id = $1", user.id)
    try db.execute("UPDATE app_user SET blocks_lifted_at = $1 WHERE id = $2", now.milliseconds, user.id)
    return blocks
  }
}

extension StorageEngine {
  public func liftBlocks(of user: String, of application: String, at now: UnixTime) async throws -> RequestBlocks {
    try await write { db in
      guard let application = try Application.find(nameOrID: application, in: db)?.id else {
        throw UserListRefusal.unknownApplication
      }
      guard let user = try User.named(user, application: application, in: db) else { throw UserListRefusal.unknownUser }
      return try RequestBlocks.lift(of: user, at: now, in: db)
    }
  }

  func liftBlocks(of user: Int64, of application: String, at now: UnixTime) async throws -> RequestBlocks? {
    try await write { db in
      try User.find(user, application: application, in: db).map { try RequestBlocks.lift(of: $0, at: now, in: db) }
    }
  }
}
