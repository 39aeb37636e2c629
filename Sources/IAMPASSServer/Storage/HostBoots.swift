import GRDB

/// The boot of a computer, as a start names it in what is signed.
struct SignedBoot: Sendable {
  let id: String
  /// The start's time stamp: Unix time in seconds, by the computer's clock.
  let signedAt: Int64
}

/// Which start of its computer each host credential was last used in. What it opened before that start is over: nobody
/// could say so when the computer went down.
enum HostBoot {
  /// A boot that comes back after so many others of its computer is taken for a new one.
  private static let keptCount = 100

  enum Finding: Sendable {
    /// With the sessions of earlier boots, which this ended.
    case isNew(ended: [Session])
    case isCurrent
    /// The credential was used in another boot since: two computers share it, or the request is an old one. Nothing is
    /// ended, since nobody knows which of the two would lose its sessions.
    case isOlder
  }

  /// The credential is used in this boot. Sessions of clients that do not name their boot are left alone.
  ///
  /// Someone on the way may withhold a start until the computer has been started again. So a start that was signed
  /// before one of the current boot's begins no boot.
  static func note(
    _ boot: SignedBoot, of credential: String, at now: UnixTime, in db: Database
  ) throws -> Finding {
    let newest = "SELECT boot_id, signed_at FROM host_boot WHERE credential = ? ORDER BY number DESC LIMIT 1"
    if let current = try db.firstRow(newest, [credential]) {
      if try current.get("boot_id") == boot.id {
        try db.run(
          "UPDATE host_boot SET signed_at = max(signed_at, ?) WHERE credential = ? AND boot_id = ?",
          [boot.signedAt, credential, boot.id])
        return .isCurrent
      }
      guard try boot.signedAt >= current.get("signed_at") else { return .isOlder }
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
