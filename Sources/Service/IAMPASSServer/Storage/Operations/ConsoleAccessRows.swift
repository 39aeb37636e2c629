import GRDB
import IAMPASSProtocol

extension ConsoleAccess {
  static func isUsable(link code: Secret, at now: UnixTime, in db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT 1 FROM console_link WHERE code_hash = ? AND expires_at > ?",
      arguments: [hash(code), now.milliseconds]) ?? false
  }

  static func addLink(_ code: Secret, at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: "INSERT INTO console_link (code_hash, expires_at) VALUES (?, ?)",
      arguments: [hash(code), now.advanced(seconds: linkLifetime).milliseconds])
  }

  /// Uses the link. Nil if the link is unknown, used or expired.
  ///
  /// - Parameter client: for the audit.
  static func enter(
    link code: Secret, key: Secret, from client: ClientAddress, at now: UnixTime, in db: Database
  ) throws -> Bool {
    guard try isUsable(link: code, at: now, in: db) else { return false }
    try db.execute(sql: "DELETE FROM console_link WHERE code_hash = ?", arguments: [hash(code)])
    try db.execute(
      sql: "INSERT INTO console_session (key_hash, form_token, expires_at, used_at, address) VALUES (?, ?, ?, ?, ?)",
      arguments: [
        hash(key), try RandomValue.identifier(), now.advanced(seconds: visitLifetime).milliseconds, now.milliseconds,
        client.text,
      ])
    return true
  }

  /// A browser's visit; nil for a browser that has not signed in.
  static func visit(_ key: Secret, at now: UnixTime, in db: Database) throws -> ConsoleVisit? {
    let row = try Row.fetchOne(
      db, sql: "SELECT form_token, used_at FROM console_session WHERE key_hash = ? AND expires_at > ? AND used_at > ?",
      arguments: [hash(key), now.milliseconds, now.advanced(seconds: -idleLifetime).milliseconds])
    guard let row else { return try ConsoleVisit.ofAdministrator(key, at: now, in: db) }
    return ConsoleVisit(
      formToken: Secret(try row.get("form_token")),
      isUseOld: isOld(try UnixTime(milliseconds: row.get("used_at")), at: now), administrator: nil)
  }

  static func markUsed(key: Secret, at now: UnixTime, in db: Database) throws {
    for table in ["console_session", "console_visit"] {
      try db.execute(
        sql: "UPDATE \(table) SET used_at = ? WHERE key_hash = ?", arguments: [now.milliseconds, hash(key)])
    }
  }

  static func leave(key: Secret, in db: Database) throws {
    try db.execute(sql: "DELETE FROM console_session WHERE key_hash = ?", arguments: [hash(key)])
    try db.execute(sql: "DELETE FROM console_visit WHERE key_hash = ?", arguments: [hash(key)])
  }

  static func forgetAll(in db: Database) throws {
    try db.execute(sql: "DELETE FROM console_link")
    try db.execute(sql: "DELETE FROM console_session")
    try db.execute(sql: "DELETE FROM console_visit")
    try db.execute(sql: "DELETE FROM console_ask")
  }

  static func prune(at now: UnixTime, in db: Database) throws {
    try db.execute(sql: "DELETE FROM console_link WHERE expires_at <= ?", arguments: [now.milliseconds])
    for table in ["console_session", "console_visit"] {
      try db.execute(
        sql: "DELETE FROM \(table) WHERE expires_at <= ? OR used_at <= ?",
        arguments: [now.milliseconds, now.advanced(seconds: -idleLifetime).milliseconds])
    }
    try db.execute(sql: "DELETE FROM console_ask WHERE expires_at <= ?", arguments: [now.milliseconds])
  }
}

extension SQLiteStorage {
  /// The code of a new link into the console. It works once, within ten minutes.
  public func createConsoleLink(at now: UnixTime) async throws -> Secret {
    let code = Secret(try RandomValue.identifier())
    try await write { try ConsoleAccess.addLink(code, at: now, in: $0) }
    return code
  }

  /// The service's last known address, for links; nil before its first start.
  public func serviceAddress() async throws -> String? {
    try await read { try String.fetchOne($0, sql: "SELECT value FROM service_fact WHERE name = 'address'") }
  }

  public func setServiceAddress(_ address: String) async throws {
    try await write {
      try $0.execute(
        sql: "INSERT OR REPLACE INTO service_fact (name, value) VALUES ('address', ?)", arguments: [address])
    }
  }

  /// `--public-url` of the service's last start; nil without it.
  public func publicAddress() async throws -> String? {
    try await read { try String.fetchOne($0, sql: "SELECT value FROM service_fact WHERE name = 'public address'") }
  }

  public func setPublicAddress(_ address: String?) async throws {
    try await write { db in
      try db.execute(sql: "DELETE FROM service_fact WHERE name = 'public address'")
      guard let address else { return }
      try db.execute(sql: "INSERT INTO service_fact (name, value) VALUES ('public address', ?)", arguments: [address])
    }
  }
}
