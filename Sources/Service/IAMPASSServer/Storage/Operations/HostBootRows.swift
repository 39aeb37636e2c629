import GRDB

extension HostBoot {
  /// The credential is used in this boot. Sessions of clients that do not name their boot are left alone.
  static func note(
    _ boot: SignedBoot, of credential: String, at now: UnixTime, in db: Database
  ) throws -> Finding {
    let newest = "SELECT boot_id, signed_at FROM host_boot WHERE credential = ? ORDER BY number DESC LIMIT 1"
    if let row = try db.firstRow(newest, [credential]) {
      let current = try SignedBoot(id: row.get("boot_id"), signedAt: row.get("signed_at"))
      if current.id == boot.id {
        try db.run(
          "UPDATE host_boot SET signed_at = max(signed_at, ?) WHERE credential = ? AND boot_id = ?",
          [boot.signedAt, credential, boot.id])
        return .isCurrent
      }
      guard mayBegin(boot, after: current) else { return .isOlder }
    }
    try db.execute(
      sql: "INSERT OR IGNORE INTO host_boot (credential, boot_id, signed_at) VALUES (?, ?, ?)",
      arguments: [credential, boot.id, boot.signedAt])
    guard db.changesCount == 1 else { return .isOlder }
    try db.execute(
      sql: """
        DELETE FROM host_boot WHERE credential = ?1 AND number NOT IN
          (SELECT number FROM host_boot WHERE credential = ?1 ORDER BY number DESC LIMIT ?2)
        """,
      arguments: [credential, keptCount])
    let sql = "SELECT * FROM session WHERE credential = ? AND ended_at IS NULL AND boot_id <> ?"
    let earlier = try Row.fetchAll(db, sql: sql, arguments: [credential, boot.id]).map(Session.init(row:))
    return .isNew(ended: try Session.close(earlier, .computerRestarted, at: now, in: db))
  }
}
