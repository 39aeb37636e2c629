import IAMPASSProtocol

extension ConsoleAccess {
  static func isUsable(link code: Secret, at now: UnixTime, in db: some StorageTransaction) throws -> Bool {
    try db.has("SELECT 1 FROM console_link WHERE code_hash = $1 AND expires_at > $2", hash(code), now.milliseconds)
  }

  static func addLink(_ code: Secret, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      "INSERT INTO console_link (code_hash, expires_at) VALUES ($1, $2)", hash(code),
      now.advanced(seconds: linkLifetime).milliseconds)
  }

  /// Uses up the link. Nil if the link is unknown, used or expired.
  ///
  /// - Parameter client: the sender, for the audit.
  static func enter(
    link code: Secret, key: Secret, from client: ClientAddress, at now: UnixTime, in db: some StorageTransaction
  ) throws -> Bool {
    guard try isUsable(link: code, at: now, in: db) else { return false }
    try db.execute("DELETE FROM console_link WHERE code_hash = $1", hash(code))
    try db.execute(
      "INSERT INTO console_session (key_hash, form_token, expires_at, used_at, address) VALUES ($1, $2, $3, $4, $5)",
      hash(key), try RandomValue.identifier(), now.advanced(seconds: visitLifetime).milliseconds, now.milliseconds,
      client.text)
    return true
  }

  /// A browser's visit; nil for a browser that has not signed in.
  static func visit(_ key: Secret, at now: UnixTime, in db: some StorageTransaction) throws -> ConsoleVisit? {
    let row = try db.first(
      "SELECT form_token, used_at FROM console_session WHERE key_hash = $1 AND expires_at > $2 AND used_at > $3",
      hash(key), now.milliseconds, now.advanced(seconds: -idleLifetime).milliseconds)
    guard let row else { return try ConsoleVisit.ofAdministrator(key, at: now, in: db) }
    return ConsoleVisit(
      formToken: Secret(try row.get("form_token")),
      isUseOld: isOld(try UnixTime(milliseconds: row.get("used_at")), at: now), administrator: nil)
  }

  static func markUsed(key: Secret, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute("UPDATE console_session SET used_at = $1 WHERE key_hash = $2", now.milliseconds, hash(key))
    try db.execute("UPDATE console_visit SET used_at = $1 WHERE key_hash = $2", now.milliseconds, hash(key))
  }

  /// Ends the visit, if there is one, and notes that in the audit.
  static func leave(key: Secret, at now: UnixTime, in db: some StorageTransaction) throws {
    let links = try db.change("DELETE FROM console_session WHERE key_hash = $1 RETURNING address", hash(key))
    let visits = try db.change("DELETE FROM console_visit WHERE key_hash = $1 RETURNING address", hash(key))
    for visit in links + visits {
      try AuditEntry.note(.consoleSignOut, from: visit.get("address"), at: now, in: db)
    }
  }

  /// Deletes all old rows at once, because there are few.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    let (now, idle) = (now.milliseconds, now.advanced(seconds: -idleLifetime).milliseconds)
    _ = try db.change("DELETE FROM console_link WHERE expires_at <= $1 RETURNING expires_at", now)
    _ = try db.change(
      "DELETE FROM console_session WHERE expires_at <= $1 OR used_at <= $2 RETURNING expires_at", now, idle)
    _ = try db.change(
      "DELETE FROM console_visit WHERE expires_at <= $1 OR used_at <= $2 RETURNING expires_at", now, idle)
    _ = try db.change("DELETE FROM console_ask WHERE expires_at <= $1 RETURNING expires_at", now)
    return 0
  }
}

extension StorageEngine {
  /// Makes a link into the console, and returns its code. It is valid once, within ten minutes.
  public func createConsoleLink(at now: UnixTime) async throws -> Secret {
    let code = Secret(try RandomValue.identifier())
    try await write { try ConsoleAccess.addLink(code, at: now, in: $0) }
    return code
  }

  /// The service's last known address, for links; nil before its first start.
  public func serviceAddress() async throws -> String? {
    try await read { try $0.text("SELECT value FROM service_fact WHERE name = 'address'") }
  }

  public func setServiceAddress(_ address: String) async throws {
    try await write {
      try $0.execute(
        """
        INSERT INTO service_fact (name, value) VALUES ('address', $1)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """, address)
    }
  }

  /// `--public-url` at the service's last start; nil without it.
  public func publicAddress() async throws -> String? {
    try await read { try $0.text("SELECT value FROM service_fact WHERE name = 'public address'") }
  }

  public func setPublicAddress(_ address: String?) async throws {
    try await write { db in
      try db.execute("DELETE FROM service_fact WHERE name = 'public address'")
      guard let address else { return }
      try db.execute("INSERT INTO service_fact (name, value) VALUES ('public address', $1)", address)
    }
  }
}
