import GRDB
import IAMPASSProtocol

extension AuditEntry {
  init(row: Row) throws {
    id = try row.get("id")
    at = try UnixTime(milliseconds: row.get("at"))
    event = try row.get("event")
    details = Self.names.compactMap { name in
      let value: DatabaseValue = row[name]
      switch value.storage {
      case .string(let text): return (name, text)
      case .int64(let number): return (name, String(number))
      case .null, .double, .blob: return nil
      }
    }
  }

  /// - Parameter now: service time. What entries are dated by is the wall clock's.
  static func prune(at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: "DELETE FROM audit WHERE noted_at < ?", arguments: [now.advanced(seconds: -lifetime).milliseconds])
  }
}

extension SQLiteStorage: HostAuditStore {
  /// Entries with greater ids, the oldest first: for reading all of them in portions.
  public func auditEntries(after id: Int64, limit: Int = 1_000) async throws -> [AuditEntry] {
    try await read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM audit WHERE id > ? ORDER BY id LIMIT ?", arguments: [id, limit])
        .map(AuditEntry.init(row:))
    }
  }

  /// Kept answers of phones, the oldest first, each as a line of JSON with the number to go on after.
  public func keptAnswers(after id: Int64, limit: Int = 1_000) async throws -> [(id: Int64, jsonLine: String)] {
    try await read { [clock] db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT rowid AS number, * FROM answer WHERE rowid > ? ORDER BY rowid LIMIT ?", arguments: [id, limit])
      return try rows.map { row in
        let texts = [
          "session", "phone", "public_key", "statement", "signature", "context", "assertion", "credential_key",
        ]
        let at = try clock.unixTime(of: UnixTime(milliseconds: row.get("answered_at")))
        let members = try texts.compactMap { name in
          try (row.get(name) as String?).map { JSON.Member(name, .string($0)) }
        }
        let line = JSON.object([JSON.Member("at", .string(at.text))] + members)
        return (try row.get("number"), line.printed())
      }
    }
  }

  func auditEntries(_ ask: HostAuditAsk) async throws -> [AuditEntry] {
    try await read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM audit WHERE credential_id = ? AND id < ? AND at >= ? ORDER BY id DESC LIMIT ?",
        arguments: [ask.credential, ask.before, ask.since, HostAuditAsk.greatestCount]
      ).map(AuditEntry.init(row:))
    }
  }

  /// The newest first, before this id where one is given.
  func newestAuditEntries(before id: Int64? = nil, limit: Int) async throws -> [AuditEntry] {
    try await read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?", arguments: [id ?? Int64.max, limit]
      ).map(AuditEntry.init(row:))
    }
  }
}
