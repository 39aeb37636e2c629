import IAMPASSProtocol

// Each question has all events, in the words of the indices `signing_entry`: otherwise no engine uses them.
extension StoredSigningRows: SigningNews {
  func lastAuditID() throws -> Int64 {
    guard let row = try db.first("SELECT coalesce(max(id), 0) AS id FROM audit") else { return 0 }
    return try row.get("id")
  }

  func hasEntry(of events: [SigningEvent], afterAudit id: Int64) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM audit WHERE id > $1 AND event IN (
        'user listed', 'user deleted', 'phone registered', 'phone cut off', 'phone credential added',
        'phone credential replaced', 'administrator added', 'administrator changed', 'administrator removed',
        'administrators signed', 'user list signed')
        AND strpos($2, ',' || event || ',') > 0 LIMIT 1
      """, id, events.storedText)
  }

  func hasEntry(of events: [SigningEvent], in application: String, afterAudit id: Int64) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM audit WHERE id > $1 AND event IN (
        'user listed', 'user deleted', 'phone registered', 'phone cut off', 'phone credential added',
        'phone credential replaced', 'administrator added', 'administrator changed', 'administrator removed',
        'administrators signed', 'user list signed')
        AND strpos($2, ',' || event || ',') > 0
        AND application = (SELECT name FROM application WHERE id = $3) LIMIT 1
      """, id, events.storedText, application)
  }

  func firstEntry(of events: [SigningEvent], in application: String?, after time: UnixTime) throws -> UnixTime? {
    let row = try db.first(
      """
      SELECT min(noted_at) AS earliest FROM audit WHERE noted_at > $1
        AND event IN (
        'user listed', 'user deleted', 'phone registered', 'phone cut off', 'phone credential added',
        'phone credential replaced', 'administrator added', 'administrator changed', 'administrator removed',
        'administrators signed', 'user list signed')
        AND strpos($2, ',' || event || ',') > 0
        AND ($3::text IS NULL OR application = (SELECT name FROM application WHERE id = $3))
      """, time.milliseconds, events.storedText, application)
    return try row?.time("earliest")
  }

  func administratorsApplication() throws -> String? {
    try db.text("SELECT value FROM service_fact WHERE name = 'administrators'")
  }
}
