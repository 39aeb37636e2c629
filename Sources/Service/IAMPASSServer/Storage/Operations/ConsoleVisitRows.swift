import IAMPASSProtocol

// Browsers that administrators have signed in by phone.

extension StorageEngine {
  func keep(_ request: ConsoleSignInRequest, at now: UnixTime) async throws -> Bool {
    try await write { db in
      try db.execute("DELETE FROM console_ask WHERE expires_at <= $1", now.milliseconds)
      let key = ConsoleAccess.hash(request.key)
      guard try ConsoleSignInRequest.makeRoom(for: key, of: request.network, in: db) else { return false }
      try db.execute(
        """
        INSERT INTO console_ask (key_hash, session, match_code, expires_at, network) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (key_hash) DO UPDATE SET session = excluded.session, match_code = excluded.match_code
        """, key, request.session, request.matchCode.exposedValue,
        now.advanced(seconds: ConsoleSignInRequest.lifetime).milliseconds, request.network)
      return true
    }
  }

  func consoleRequest(_ key: Secret, at now: UnixTime) async throws -> ConsoleSignInRequest? {
    try await read { try ConsoleSignInRequest.find(key, at: now, in: $0) }
  }

  func enterConsole(
    asked request: Secret, key: Secret, from client: ClientAddress, at now: UnixTime
  ) async throws -> Session? {
    try await write { db in
      guard let kept = try ConsoleSignInRequest.find(request, at: now, in: db), let id = kept.session,
        var session = try Session.find(id: id, in: db), let user = session.user,
        session.application == (try Administrator.application(in: db)),
        let name = try User.find(user, application: session.application, in: db)?.name,
        try Administrator.role(of: name, in: db) != nil
      else { return nil }
      session.lifecycle.collect(at: now)
      guard session.lifecycle.status == .active else { return nil }
      session.markDelivered(at: now)
      try session.update(in: db)
      try db.execute("DELETE FROM console_ask WHERE key_hash = $1", ConsoleAccess.hash(request))
      try db.execute(
        """
        INSERT INTO console_visit (key_hash, form_token, administrator, session, expires_at, used_at, address)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """, ConsoleAccess.hash(key), try RandomValue.identifier(), name, id,
        now.advanced(seconds: ConsoleAccess.visitLifetime).milliseconds, now.milliseconds, client.text)
      return session
    }
  }
}

extension ConsoleSignInRequest {
  fileprivate static func find(_ key: Secret, at now: UnixTime, in db: some StorageTransaction) throws
    -> ConsoleSignInRequest?
  {
    let row = try db.first(
      "SELECT * FROM console_ask WHERE key_hash = $1 AND expires_at > $2", ConsoleAccess.hash(key),
      now.milliseconds)
    return try row.map { row in
      let end = try UnixTime(milliseconds: row.get("expires_at"))
      return ConsoleSignInRequest(
        key: key, session: try row.get("session"), matchCode: Secret(try row.get("match_code")),
        askedAt: end.advanced(seconds: -lifetime), network: try row.get("network"))
    }
  }

  /// Makes room for the request of a browser that has none, if all places are taken: of the network with the most, the
  /// oldest one gives way. What it asked on a phone expires by itself.
  ///
  /// - Parameter network: the browser's own.
  /// - Returns: false if no network has more places than this one.
  fileprivate static func makeRoom(
    for key: String, of network: String, in db: some StorageTransaction
  ) throws -> Bool {
    let others: Int64 =
      try db.first("SELECT count(*) AS count FROM console_ask WHERE key_hash <> $1", key)?.get("count") ?? 0
    guard others >= greatestCount else { return true }
    let own: Int64 =
      try db.first("SELECT count(*) AS count FROM console_ask WHERE network = $1", network)?.get("count") ?? 0
    let largest = try db.first(
      """
      SELECT network, count(*) AS count FROM console_ask GROUP BY network
      ORDER BY count(*) DESC, min(expires_at), network LIMIT 1
      """)
    guard let largest else { return false }
    let (name, count): (String, Int64) = (try largest.get("network"), try largest.get("count"))
    guard own < count else { return false }
    try db.execute(
      """
      DELETE FROM console_ask WHERE key_hash = (
        SELECT key_hash FROM console_ask WHERE network = $1 ORDER BY expires_at, key_hash LIMIT 1)
      """, name)
    return true
  }
}

extension ConsoleVisit {
  /// Nil unless the session that a phone approved is active, and its user is an administrator.
  static func ofAdministrator(_ key: Secret, at now: UnixTime, in db: some StorageTransaction) throws -> ConsoleVisit? {
    let row = try db.first(
      """
      SELECT console_visit.*, administrator.role FROM console_visit
      JOIN administrator ON administrator.name = console_visit.administrator
      JOIN session ON session.id = console_visit.session
      WHERE key_hash = $1 AND console_visit.expires_at > $2 AND used_at > $3 AND session.status = 'active'
        AND session.ended_at IS NULL
      """, ConsoleAccess.hash(key), now.milliseconds,
      now.advanced(seconds: -ConsoleAccess.idleLifetime).milliseconds)
    return try row.map { row in
      let word: String = try row.get("role")
      return ConsoleVisit(
        formToken: Secret(try row.get("form_token")),
        isUseOld: ConsoleAccess.isOld(try UnixTime(milliseconds: row.get("used_at")), at: now),
        administrator: .init(
          name: try row.get("administrator"), role: AdministratorRule.role(word), session: try row.get("session")))
    }
  }
}
