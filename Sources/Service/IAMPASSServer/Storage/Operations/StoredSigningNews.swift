import GRDB
import IAMPASSProtocol

extension SQLiteSigningRows: SigningNews {
  func lastAuditID() throws -> Int64 { try Int64.fetchOne(db, sql: "SELECT max(id) FROM audit") ?? 0 }

  func hasEntry(of events: [SigningEvent], afterAudit id: Int64) throws -> Bool {
    let sql = "SELECT 1 AS found FROM audit WHERE id > ? AND instr(?, ',' || event || ',') > 0 LIMIT 1"
    return try db.firstRow(sql, [id, events.storedText]) != nil
  }

  func firstEntry(of events: [SigningEvent], in application: String?, after time: UnixTime) throws -> UnixTime? {
    let sql = """
      SELECT min(noted_at) FROM audit WHERE noted_at > ?1 AND instr(?2, ',' || event || ',') > 0
        AND (?3 IS NULL OR application = (SELECT name FROM application WHERE id = ?3))
      """
    return try Int64.fetchOne(db, sql: sql, arguments: [time.milliseconds, events.storedText, application])
      .map(UnixTime.init(milliseconds:))
  }

  func administratorsApplication() throws -> String? {
    try String.fetchOne(db, sql: "SELECT value FROM service_fact WHERE name = 'administrators'")
  }
}
