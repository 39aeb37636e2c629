import GRDB

extension ConsoleAct {
  /// Does `work` as the act of this administrator.
  func does<Value>(_ work: (Database) throws -> Value, in db: Database) throws -> Value {
    if let seen { try seen.check(seen.subject.state(in: db)) }
    let last = try db.first("SELECT coalesce(max(id), 0) AS id FROM audit").map { try $0.get("id") as Int64 } ?? 0
    let value = try work(db)
    try db.execute(
      "UPDATE audit SET administrator = $1, approval = $2 WHERE id > $3 AND administrator IS NULL", administrator,
      approval, last)
    return value
  }
}
