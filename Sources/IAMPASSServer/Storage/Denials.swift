import GRDB

/// Sources whose requests a user denies again and again. Read off the sessions, so that a restart forgets nothing.
///
/// The user's other sources go on, and so do other users of that source.
enum Denials {
  /// So many denials …
  static let greatestCount = 3
  /// … of all sources together that one host's credential names, since whoever holds it may name any. So many more that
  /// strangers who knock at that host by ssh do not take the owner's own way in, …
  static let greatestCountOfHost = 9
  /// … within so many seconds …
  static let window: Int64 = 600
  /// … and the source is not heard for so many seconds after the last of them.
  static let pause: Int64 = 900

  /// - Parameter session: what is asked now.
  static func areTooMany(of user: Int64, _ session: Session, at now: UnixTime, in db: Database) throws -> Bool {
    if try reach(greatestCount, of: user, "source", session.source, at: now, in: db) { return true }
    guard let credential = session.credential else { return false }
    return try reach(greatestCountOfHost, of: user, "credential", credential, at: now, in: db)
  }

  private static func reach(
    _ count: Int, of user: Int64, _ column: String, _ value: String, at now: UnixTime, in db: Database
  ) throws -> Bool {
    let times = try Int64.fetchAll(
      db,
      sql: """
        SELECT ended_at FROM session
        WHERE user = ? AND \(column) = ? AND ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') AND ended_at > ?
        ORDER BY ended_at DESC
        """,
      arguments: [user, value, now.advanced(seconds: -(pause + window)).milliseconds])
    let isPast = { (time: Int64) in now.milliseconds - time >= pause * 1_000 }
    return zip(times, times.dropFirst(count - 1)).contains { last, first in
      !isPast(last) && last - first <= window * 1_000
    }
  }

  static let schema = """
    CREATE INDEX denied_session ON session (user, ended_at) WHERE ending IN ('DENIED', 'NOT_ME');
    """
}
