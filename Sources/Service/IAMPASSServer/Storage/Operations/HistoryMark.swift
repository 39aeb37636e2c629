import IAMPASSProtocol

/// Where the database stands in its own history: clients see by it that it was put back to an earlier state.
///
/// The database itself counts, in the transaction of whatever happens to a session. So a copy of its file that was made
/// without this program, or a machine that was set back, has a lower counter, too.
enum HistoryMark {
  /// As the database's triggers have counted.
  static func current(in db: some StorageWork) throws -> ServiceMark {
    guard let row = try db.first("SELECT epoch, counter FROM service_mark") else {
      throw DamagedRow(column: "epoch")
    }
    return try ServiceMark(epoch: row.get("epoch"), counter: row.get("counter"))
  }
}
