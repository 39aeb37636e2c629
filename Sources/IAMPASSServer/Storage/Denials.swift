import GRDB

/// Sources whose requests a user denies again and again. Read off the sessions, so that a restart forgets nothing.
///
/// The user's other sources go on, and so do other users of that source.
enum Denials {
  /// So many denials …
  static let greatestCount = 3
  /// … within so many seconds …
  static let window: Int64 = 600
  /// … and the source is not heard for so many seconds after the last of them.
  static let pause: Int64 = 900

  static func areTooMany(of user: Int64, source: String, at now: UnixTime, in db: Database) throws -> Bool {
    let times = try Int64.fetchAll(
      db,
      sql: """
        SELECT ended_at FROM session
        WHERE user = ? AND source = ? AND ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') AND ended_at > ?
        ORDER BY ended_at DESC
        """,
      arguments: [user, source, now.advanced(seconds: -(pause + window)).milliseconds])
    let isPast = { (time: Int64) in now.milliseconds - time >= pause * 1_000 }
    return zip(times, times.dropFirst(greatestCount - 1)).contains { last, first in
      !isPast(last) && last - first <= window * 1_000
    }
  }

  static let schema = """
    CREATE INDEX denied_session ON session (user, ended_at) WHERE ending IN ('DENIED', 'NOT_ME');
    """
}
