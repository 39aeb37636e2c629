import GRDB
import IAMPASSProtocol

extension Denials {
  /// The last first.
  static func recent(of user: Int64, at now: UnixTime, in db: Database) throws -> [Denial] {
    try db.allRows(
      """
      SELECT source, credential, context, ended_at FROM session
      WHERE user = ? AND ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') AND ended_at > ?
      ORDER BY ended_at DESC
      """, [user, start(at: now).milliseconds]
    ).map { row in
      try Denial(
        source: row.get("source"), credential: row.get("credential"),
        // One damaged row must not refuse every request of the user.
        isRemote: try? SignInContext(JSON(parsing: Array((row.get("context") as String).utf8))).isRemote,
        time: row.get("ended_at"))
    }
  }
}
