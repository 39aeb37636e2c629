import IAMPASSProtocol

/// The database's position in its own history, by which clients notice that it was restored to an earlier state.
///
/// The database itself counts, in the transaction of each change of a session. So a copy of its file that was made
/// without this program, or a virtual machine that was reset, also has a lower counter.
enum HistoryMark {
  /// The present mark, as the database's triggers have counted.
  static func current(in db: some StorageTransaction) throws -> ServiceMark {
    guard let row = try db.first("SELECT epoch, counter FROM service_mark") else {
      throw DamagedRow(column: "epoch")
    }
    return try ServiceMark(epoch: row.get("epoch"), counter: row.get("counter"))
  }

  /// Whether everything was moved away, or is being moved here: nothing is added meanwhile.
  static func isClosed(in db: some StorageTransaction) throws -> Bool {
    try db.has("SELECT id FROM database_move WHERE state <> 'arrived'")
  }
}
