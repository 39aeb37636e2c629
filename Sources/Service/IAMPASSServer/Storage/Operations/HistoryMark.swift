import GRDB
import IAMPASSProtocol

/// Where the database stands in its own history: clients see by it that it was put back to an earlier state.
///
/// The database itself counts, in the transaction of whatever happens to a session. So a copy of its file that was made
/// without this program, or a machine that was set back, has a lower counter, too.
enum HistoryMark {
  static func current(in db: Database) throws -> ServiceMark {
    guard let row = try db.firstRow("SELECT epoch, counter FROM service_mark", []) else {
      throw DamagedRow(column: "epoch")
    }
    return try ServiceMark(epoch: row.get("epoch"), counter: row.get("counter"))
  }

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
