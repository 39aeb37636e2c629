extension HostBoot {
  static func newest(of credential: String, in db: some StorageTransaction) throws -> SignedBoot? {
    try db.first(
      "SELECT boot_id, signed_at FROM host_boot WHERE credential = $1 ORDER BY number DESC LIMIT 1", credential
    ).map { try SignedBoot(id: $0.get("boot_id"), signedAt: $0.get("signed_at")) }
  }

  /// Notes that the credential is used in this boot. Sessions of clients that do not name their boot stay.
  static func note(
    _ boot: SignedBoot, of credential: String, at now: UnixTime, in db: some StorageTransaction
  ) throws -> Finding {
    if let current = try newest(of: credential, in: db) {
      if current.id == boot.id {
        // Most starts are of the same boot as the last one, and need no further question.
        try db.executeKeepingPrefetched(
          "UPDATE host_boot SET signed_at = greatest(signed_at, $1) WHERE credential = $2 AND boot_id = $3",
          boot.signedAt, credential, boot.id)
        return .isCurrent
      }
      guard mayBegin(boot, after: current) else { return .isOlder }
    }
    let added = try db.change(
      """
      INSERT INTO host_boot (credential, boot_id, signed_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING number
      """, credential, boot.id, boot.signedAt)
    guard added.count == 1 else { return .isOlder }
    try db.execute(
      """
      DELETE FROM host_boot WHERE credential = $1 AND number NOT IN
        (SELECT number FROM host_boot WHERE credential = $1 ORDER BY number DESC LIMIT $2)
      """, credential, keptCount)
    let sql: StaticString = """
      SELECT * FROM session /*SQLite INDEXED BY live_session_of_credential */
      WHERE credential = $1 AND ended_at IS NULL AND boot_id <> $2
      """
    let earlier = try db.all(sql, credential, boot.id).map(UnendedSession.init(row:))
    return .isNew(ended: try UnendedSession.close(earlier, .computerRestarted, at: now, in: db))
  }
}
