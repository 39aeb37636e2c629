import PostgreSQLLink

/// Finds out whether a write was committed whose answer was lost.
///
/// Each write that changes something stores a random id with its changes. A writer without an answer stores the same id
/// over another connection. If the id is already there, the write was committed. If it is not, the write can no longer
/// be committed, because the id is now taken. If the write is still running, the second one waits for its end.
enum PostgreSQLCommits {
  /// How long ids are kept, in seconds. A writer asks within some seconds.
  private static let lifetime: Int64 = 86_400

  static func note(_ id: String, at now: UnixTime) -> PostgreSQLCall {
    PostgreSQLCall(
      "INSERT INTO committed_write (id, written_at) VALUES ($1, $2)", .text(id), .integer(now.milliseconds))
  }

  /// - Throws: ``PostgreSQLError`` if the database does not answer.
  static func has(_ id: String, at now: UnixTime, in connection: PostgreSQLConnection) throws -> Bool {
    let taken = try connection.run([
      PostgreSQLCall(
        "INSERT INTO committed_write (id, written_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id", .text(id),
        .integer(now.milliseconds))
    ])
    return taken[0].isEmpty
  }

  /// Deletes a portion of old ids.
  ///
  /// - Returns: whether there may be more.
  static func prune(at now: UnixTime, in db: PostgreSQLTransaction) throws -> Bool {
    let forgotten = try db.change(
      """
      DELETE FROM committed_write
      WHERE id IN (SELECT id FROM committed_write WHERE written_at < $1 ORDER BY written_at LIMIT $2) RETURNING id
      """, now.advanced(seconds: -lifetime).milliseconds, Forgettable.portion)
    return forgotten.count >= Forgettable.portion
  }
}
