import IAMPASSProtocol

extension MatchCodesInUse {
  /// The codes of ended sessions; the first to end comes first.
  static func ended(of user: Int64, at now: UnixTime, in db: some StorageTransaction) throws -> [Ended] {
    let sql: StaticString = """
      SELECT match_code, source, context, approved_at, ending FROM session
      WHERE user_id = $1 AND match_code IS NOT NULL AND ended_at > $2 ORDER BY ended_at, number
      """
    return try db.all(sql, user, start(at: now).milliseconds).map { row in
      try Ended(
        code: row.get("match_code"), source: row.get("source"),
        isRemote: try? SignInContext(JSON(parsing: Array((row.get("context") as String).utf8))).isRemote,
        isApproved: (row.get("approved_at") as Int64?) != nil,
        ending: (row.get("ending") as String?).flatMap(SessionLifecycle.Ending.init(rawValue:)))
    }
  }
}
