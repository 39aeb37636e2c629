import GRDB

extension AuditNote {
  /// Runs `work`, and sets the actor of its audit entries in the same transaction, so that no actor is left for the
  /// next one.
  func does<Value>(_ work: (Database) throws -> Value, in db: Database) throws -> Value {
    if let seen = act?.seen { try seen.check(seen.subject.state(in: db)) }
    guard act != nil || actor != nil else { return try work(db) }
    let last = try db.first("SELECT coalesce(max(id), 0) AS id FROM audit").map { try $0.get("id") as Int64 } ?? 0
    let value = try work(db)
    try db.execute(
      """
      UPDATE audit SET actor = $1, administrator = coalesce(administrator, $2), approval = coalesce(approval, $3)
      WHERE id > $4
      """, actor?.text, act?.administrator, act?.approval, last)
    return value
  }
}
