import PostgreSQLLink

/// Whether a write was committed whose answer was lost: said or not said, never both.
///
/// Each write that changes something stores a random id with its changes. A writer that had no answer stores the same
/// id by a connection of its own. If that meets the id, the write was committed. If it does not, the write never will be:
/// the id is taken. If the write is still going on, the server has the second one wait for the first one's end.
enum PostgreSQLCommits {
  /// Seconds for which ids are kept: a writer asks within some seconds.
  private static let lifetime: Int64 = 86_400

  static func note(_ id: String, at now: UnixTime) -> PostgreSQLCall {
    PostgreSQLCall(
      "INSERT INTO committed_write (id, written_at) VALUES ($1, $2)", .text(id), .integer(now.milliseconds))
  }

  /// - Throws: ``PostgreSQLError`` if the database does not say.
  static func has(_ id: String, at now: UnixTime, in connection: PostgreSQLConnection) throws -> Bool {
    let taken = try connection.run([
      PostgreSQLCall(
        "INSERT INTO committed_write (id, written_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id", .text(id),
        .integer(now.milliseconds))
    ])
    return taken[0].isEmpty
  }

  /// Forgets a portion.
  ///
  /// - Returns: whether there may be more.
  static func prune(at now: UnixTime, in db: PostgreSQLWork) throws -> Bool {
    let forgotten = try db.change(
      """
      DELETE FROM committed_write
      WHERE id IN (SELECT id FROM committed_write WHERE written_at < $1 ORDER BY written_at LIMIT $2) RETURNING id
      """, now.advanced(seconds: -lifetime).milliseconds, Forgettable.portion)
    return forgotten.count >= Forgettable.portion
  }
}
