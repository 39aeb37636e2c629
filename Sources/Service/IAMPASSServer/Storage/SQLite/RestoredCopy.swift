import GRDB
import IAMPASSProtocol

/// Marks that the database is a copy which was put back.
///
/// The copy does not know what was spent after it was made: whatever may have been, counts as spent.
enum RestoredCopy {
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
  /// - Parameters:
  ///   - now: the wall clock's, as in the stamps of requests.
  ///   - made: the last time that the copy knows, so that it was made at that time or later.
  /// - Throws: ``StorageError/Code/clockBehindCopy`` if the wall clock is certainly wrong. Nonces that were spent since
  ///   the copy was made would work again.
  static func begin(at now: UnixTime, made: UnixTime, in db: Database) throws {
    guard now.milliseconds(since: made) >= -RequestSigner.clockWindow * 1_000 else {
      throw StorageError(.clockBehindCopy, detail: made.text)
    }
    let until = UnixTime(seconds: now.seconds + SignedNonce.lifetime)
    // What a copy before began by a clock that was ahead would refuse every request until then.
    try db.execute(
      sql: "DELETE FROM restored_copy WHERE nonces_spent_until > ?", arguments: [until.milliseconds])
    try db.execute(
      sql: "UPDATE restored_copy SET nonces_spent_until = ? WHERE nonces_spent_until IS NULL",
      arguments: [until.milliseconds])
    try HistoryMark.beginEpoch(at: now, in: db)
    try db.execute(sql: "DELETE FROM link WHERE used_at IS NULL")
    try ConsoleAccess.forgetAll(in: db)
  }
}

extension HistoryMark {
  /// Begins a higher epoch: what is known from here on may lack what was known before.
  ///
  /// One copy may be put back twice, and each time is an epoch of its own: the wall clock's time. If an earlier epoch came
  /// from a clock that was ahead, a random number keeps the two apart.
  static func beginEpoch(at now: UnixTime, in db: Database) throws {
    let step = Int64(try RandomValue.number(below: 256) * 256 + RandomValue.number(below: 256)) + 1
    try db.execute(
      sql: "UPDATE service_mark SET epoch = iif(epoch < ?1, ?1, epoch + ?2)", arguments: [now.seconds, step])
  }
}

extension ConsoleAccess {
  fileprivate static func forgetAll(in db: Database) throws {
    try db.execute(sql: "DELETE FROM console_link")
    try db.execute(sql: "DELETE FROM console_session")
    try db.execute(sql: "DELETE FROM console_visit")
    try db.execute(sql: "DELETE FROM console_ask")
  }
}

extension SQLiteStorage {
  /// Whether the database is a copy that no service has worked with before; to be asked once, before the first request.
  public func beginWithCopy() async throws -> Bool {
    // Nothing is written at other starts, which then wait for no other process.
    guard try await read(RestoredCopy.isNew) else { return false }
    let now = clock.wall()
    let made = clock.unixTime(of: clock.now())
    try await write { try RestoredCopy.begin(at: now, made: made, in: $0) }
    return true
  }
}
