import IAMPASSProtocol
import PostgreSQLLink

extension HistoryMark {
  /// As the database's triggers have counted.
  static func current(in db: PostgreSQLWork) throws -> ServiceMark {
    guard let row = try db.first("SELECT epoch, counter FROM service_mark") else {
      throw DamagedRow(column: "epoch")
    }
    return try ServiceMark(epoch: row.get("epoch"), counter: row.get("counter"))
  }
}
