import GRDB

/// Marks that the database is a copy which was put back.
///
/// The copy does not know what was spent after it was made: whatever may have been, counts as spent.
enum RestoredCopy {
  /// A copy has a row without a time, which it gets when a service begins to work with it.
  static let schema = """
    CREATE TABLE restored_copy (nonces_spent_until INTEGER) STRICT;
    """

  /// Marks the database that is written as a copy.
  static func mark(in db: Database) throws {
    try db.execute(sql: "INSERT INTO restored_copy DEFAULT VALUES")
  }

  static func isNew(in db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM restored_copy WHERE nonces_spent_until IS NULL)") ?? false
  }

  /// Counts every nonce as spent that was signed in an earlier second than this one, for ever, and every link as used;
  /// the console's browsers may have signed out. Begins a higher epoch, by which clients see what happened.
  ///
  /// - Parameter now: the wall clock's, as in the stamps of requests.
  static func begin(at now: UnixTime, in db: Database) throws {
    let until = UnixTime(seconds: now.seconds + SignatureCheck.nonceLifetime)
    try db.execute(
      sql: "UPDATE restored_copy SET nonces_spent_until = ? WHERE nonces_spent_until IS NULL",
      arguments: [until.milliseconds])
    try HistoryMark.beginEpoch(at: now, in: db)
    try db.execute(sql: "DELETE FROM link WHERE used_at IS NULL")
    try ConsoleAccess.forgetAll(in: db)
  }
}

extension Storage {
  /// Whether the database is a copy that no service has worked with before; to be asked once, before the first request.
  public func beginWithCopy() async throws -> Bool {
    // Nothing is written at other starts, which then wait for no other process.
    guard try await read(RestoredCopy.isNew) else { return false }
    let now = clock.wall()
    try await write { try RestoredCopy.begin(at: now, in: $0) }
    return true
  }
}
