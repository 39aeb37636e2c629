import GRDB

/// Which start of its computer each host credential was last used in. What it opened before that start is over: nobody
/// could say so when the computer went down.
enum HostBoot {
  /// A boot that comes back after so many others of its computer is taken for a new one.
  private static let keptCount = 100

  static let schema = """
    ALTER TABLE session ADD COLUMN boot_id TEXT;

    CREATE TABLE host_boot (
      number INTEGER PRIMARY KEY,
      credential TEXT NOT NULL REFERENCES host_credential ON DELETE CASCADE,
      boot_id TEXT NOT NULL,
      UNIQUE (credential, boot_id)
    ) STRICT;
    """

  enum Finding: Sendable {
    /// With the sessions of earlier boots, which this ended.
    case isNew(ended: [Session])
    case isCurrent
    /// The credential was used in another boot since: two computers share it, or the request is an old one. Nothing is
    /// ended, since nobody knows which of the two would lose its sessions.
    case isOlder
  }

  static func isCurrent(_ bootID: String, of credential: String, in db: Database) throws -> Bool {
    let sql = "SELECT boot_id FROM host_boot WHERE credential = ? ORDER BY number DESC LIMIT 1"
    return try String.fetchOne(try db.cachedStatement(sql: sql), arguments: [credential]) == bootID
  }

  /// The credential is used in this boot. Sessions of clients that do not name their boot are left alone.
  static func note(
    _ bootID: String, of credential: String, at now: UnixTime, in db: Database
  ) throws -> Finding {
    if try isCurrent(bootID, of: credential, in: db) { return .isCurrent }
    try db.execute(
      sql: "INSERT OR IGNORE INTO host_boot (credential, boot_id) VALUES (?, ?)", arguments: [credential, bootID])
    guard db.changesCount == 1 else { return .isOlder }
    try db.execute(
      sql: """
        DELETE FROM host_boot WHERE credential = ?1 AND number NOT IN
          (SELECT number FROM host_boot WHERE credential = ?1 ORDER BY number DESC LIMIT ?2)
        """,
      arguments: [credential, keptCount])
    let sql = "SELECT * FROM session WHERE credential = ? AND ended_at IS NULL AND boot_id <> ?"
    let earlier = try Row.fetchAll(db, sql: sql, arguments: [credential, bootID]).map(Session.init(row:))
    return .isNew(ended: try Session.close(earlier, .computerRestarted, at: now, in: db))
  }
}
