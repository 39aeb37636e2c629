extension SourceBlock {
  /// Blocks the source. An existing block begins again.
  static func set(user: Int64, source: String, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      """
      INSERT INTO source_block (user_id, source, until) VALUES ($1, $2, $3)
      ON CONFLICT (user_id, source) DO UPDATE SET until = excluded.until
      """, user, key(of: source), now.advanced(seconds: lifetime).milliseconds)
  }

  static func isSet(user: Int64, source: String, at now: UnixTime, in db: some StorageTransaction) throws -> Bool {
    try db.has(
      "SELECT 1 FROM source_block WHERE user_id = $1 AND source = $2 AND until > $3", user, key(of: source),
      now.milliseconds)
  }

  /// - Returns: the number of deleted blocks.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    try db.change(
      """
      DELETE FROM source_block WHERE (user_id, source) IN (SELECT user_id, source FROM source_block WHERE until <= $1 ORDER BY until LIMIT $2)
      RETURNING until
      """, now.milliseconds, Forgettable.portion
    ).count
  }
}
