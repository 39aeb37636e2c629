import GRDB

/// The nonces of requests that were taken: each works once, also after a restart.
enum SpentNonces {
  /// Whether this nonce is now spent for the first time.
  ///
  /// - Parameters:
  ///   - client: whose signature it was; nonces of different clients do not meet.
  ///   - forgetAt: when the request's time stamp alone refuses it.
  static func spend(_ nonce: String, client: String, forgetAt: UnixTime, in db: Database) throws -> Bool {
    try db.run(
      """
      INSERT OR IGNORE INTO spent_nonce (client, nonce, forget_at) SELECT ?1, ?2, ?3
      WHERE NOT EXISTS (SELECT 1 FROM restored_copy WHERE nonces_spent_until > ?3)
      """,
      [client, nonce, forgetAt.milliseconds])
    return db.changesCount == 1
  }

  static func prune(at now: UnixTime, in db: Database) throws {
    try db.execute(sql: "DELETE FROM spent_nonce WHERE forget_at < ?", arguments: [now.milliseconds])
  }
}
