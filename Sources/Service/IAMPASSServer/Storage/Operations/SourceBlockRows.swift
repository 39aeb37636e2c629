import GRDB

extension SourceBlock {
  /// An existing block begins again.
  static func set(user: Int64, source: String, at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO source_block (user, source, until) VALUES (?, ?, ?)",
      arguments: [user, source, now.advanced(seconds: lifetime).milliseconds])
  }

  static func isSet(user: Int64, source: String, at now: UnixTime, in db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT 1 FROM source_block WHERE user = ? AND source = ? AND until > ?",
      arguments: [user, source, now.milliseconds]) ?? false
  }

  static func prune(at now: UnixTime, in db: Database) throws {
    try db.execute(sql: "DELETE FROM source_block WHERE until <= ?", arguments: [now.milliseconds])
  }
}
