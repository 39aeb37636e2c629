import GRDB

extension MoveMark {
  static func stored(in db: Database) throws -> MoveMark? {
    guard try db.tableExists("database_move"),
      let row = try db.first("SELECT id, state, place FROM database_move WHERE state <> 'arrived'")
    else { return nil }
    guard let state = State(rawValue: try row.get("state")) else { throw DamagedRow(column: "state") }
    return MoveMark(id: try row.get("id"), state: state, place: try row.get("place"))
  }
}
