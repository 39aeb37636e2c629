import IAMPASSProtocol

extension Denials {
  /// The denials that were not lifted since, newest first.
  static func recent(of user: Int64, at now: UnixTime, in db: some StorageTransaction) throws -> [Denial] {
    try db.all(
      """
      SELECT source, credential, context, ended_at FROM session
      WHERE user_id = $1 AND ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') AND ended_at > $2
        AND ended_at > coalesce((SELECT blocks_lifted_at FROM app_user WHERE id = $1), 0)
      ORDER BY ended_at DESC
      """, user, start(at: now).milliseconds
    ).map { row in
      try Denial(
        source: row.get("source"), credential: row.get("credential"),
        // One damaged row must not block every request of the user.
        isRemote: try? SignInContext(JSON(parsing: Array((row.get("context") as String).utf8))).isRemote,
        time: row.get("ended_at"))
    }
  }
}
