import GRDB
import IAMPASSProtocol

/// Where the database stands in its own history: clients see by it that it was put back to an earlier state.
///
/// The database itself counts, in the transaction of whatever happens to a session. So a copy of its file that was made
/// without this program, or a machine that was set back, has a lower counter, too.
enum HistoryMark {
  /// The first epoch is the time, in seconds: two databases hardly begin in the same one.
  static let schema = """
    CREATE TABLE service_mark (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      epoch INTEGER NOT NULL,
      counter INTEGER NOT NULL
    ) STRICT;
    INSERT INTO service_mark (id, epoch, counter) VALUES (1, CAST(strftime('%s', 'now') AS INTEGER), 0);

    CREATE TRIGGER mark_asked AFTER INSERT ON session BEGIN
      UPDATE service_mark SET counter = counter + 1;
    END;
    CREATE TRIGGER mark_changed AFTER UPDATE OF status ON session WHEN NEW.status IS NOT OLD.status BEGIN
      UPDATE service_mark SET counter = counter + 1;
    END;
    """

  static func current(in db: Database) throws -> ServiceMark {
    guard let row = try db.firstRow("SELECT epoch, counter FROM service_mark", []) else {
      throw DamagedRow(column: "epoch")
    }
    return try ServiceMark(epoch: row.get("epoch"), counter: row.get("counter"))
  }

  /// Begins a higher epoch: what is known from here on may lack what was known before.
  ///
  /// - Parameter now: of the wall clock. One copy may be put back twice, and each time is an epoch of its own.
  static func beginEpoch(at now: UnixTime, in db: Database) throws {
    try db.execute(sql: "UPDATE service_mark SET epoch = max(epoch + 1, ?)", arguments: [now.seconds])
  }
}
