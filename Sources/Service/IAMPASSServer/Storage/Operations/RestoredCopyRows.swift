import IAMPASSProtocol

/// Prepares, once, a database that may lack data that it had before: a restored copy, or a standby that lagged.
///
/// It does not know which nonces and links were used meanwhile, so all that may have been used count as used.
enum RestoredCopy {
  /// Counts every nonce as used that was signed in an earlier second than this one, for ever, and every link as used;
  /// the console's browsers may have signed out. Begins a higher epoch, by which clients see what happened.
  ///
  /// - Parameters:
  ///   - now: the wall clock's, as in the stamps of requests.
  ///   - made: the last time that the copy knows, so that it was made at that time or later.
  /// - Throws: ``StorageError/Code/clockBehindCopy`` if the wall clock is certainly wrong. Nonces that were used since
  ///   the copy was made would work again.
  static func begin(at now: UnixTime, made: UnixTime, in db: some StorageTransaction) throws {
    guard now.milliseconds(since: made) >= -RequestSigner.clockWindow * 1_000 else {
      throw StorageError(.clockBehindCopy, detail: made.text)
    }
    let until = UnixTime(seconds: now.seconds + SignedNonce.lifetime)
    // What a copy before began by a clock that was ahead would refuse every request until then. A row without a time
    // marks a copy that no service has begun with.
    try db.execute(
      "DELETE FROM restored_copy WHERE nonces_spent_until IS NULL OR nonces_spent_until > $1", until.milliseconds)
    try db.execute("INSERT INTO restored_copy (nonces_spent_until) VALUES ($1)", until.milliseconds)
    try HistoryMark.beginEpoch(at: now, in: db)
    try db.execute("DELETE FROM link WHERE used_at IS NULL")
    try ConsoleAccess.forgetAll(in: db)
  }
}

extension HistoryMark {
  /// Begins a higher epoch, because the database may lack data that it had before.
  ///
  /// One copy may be restored twice, and each time has its own epoch: the wall clock's time. If an earlier epoch came
  /// from a clock that was ahead, a random number separates the two.
  static func beginEpoch(at now: UnixTime, in db: some StorageTransaction) throws {
    let step = Int64(try RandomValue.number(below: 256) * 256 + RandomValue.number(below: 256)) + 1
    try db.execute(
      "UPDATE service_mark SET epoch = CASE WHEN epoch < $1 THEN $1 ELSE epoch + $2 END", now.seconds, step)
  }
}

extension ConsoleAccess {
  fileprivate static func forgetAll(in db: some StorageTransaction) throws {
    try db.execute("DELETE FROM console_link")
    try db.execute("DELETE FROM console_session")
    try db.execute("DELETE FROM console_visit")
    try db.execute("DELETE FROM console_ask")
  }
}
