import PostgreSQLLink

extension MoveMark {
  static func stored(in connection: PostgreSQLConnection) throws -> MoveMark? {
    let table = try connection.ask([PostgreSQLCall("SELECT to_regclass('database_move')::text")])
    guard try table[0].first?.text(0) != nil else { return nil }
    let rows = try connection.ask([
      PostgreSQLCall("SELECT id, state, place FROM database_move WHERE state <> 'arrived'")
    ])[0]
    guard let row = rows.first else { return nil }
    guard let state = State(rawValue: try row.get("state")) else { throw DamagedRow(column: "state") }
    return MoveMark(id: try row.get("id"), state: state, place: try row.get("place"))
  }
}
