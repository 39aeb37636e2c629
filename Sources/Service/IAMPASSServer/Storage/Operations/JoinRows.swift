import GRDB
import IAMPASSProtocol

extension StoredJoinCode {
  init(row: Row) throws {
    try self.init(
      id: row.get("id"), application: row.get("application"), uses: row.get("uses"),
      group: row.get("computer_group"), isUnattended: row.get("is_unattended"),
      createdAt: UnixTime(milliseconds: row.get("created_at")),
      expiresAt: UnixTime(milliseconds: row.get("expires_at")), revokedAt: row.time("revoked_at"),
      setNumber: row.get("set_number"))
  }

  fileprivate func used(in db: Database) throws -> Int64 {
    try Int64.fetchOne(
      db, sql: "SELECT count(*) FROM joining WHERE code = ?", arguments: [id]) ?? 0
  }
}

extension Joining {
  init(row: Row) throws {
    let state: String = try row.get("state")
    try self.init(
      id: row.get("id"), code: row.get("code"), name: row.get("name"), mark: row.get("mark"),
      state: State(rawValue: state) ?? .refused, address: row.get("address"),
      askedAt: UnixTime(milliseconds: row.get("asked_at")))
  }

  fileprivate static func isNameWaiting(
    _ name: String, of application: String, at now: UnixTime, in db: Database
  ) throws -> Bool {
    try db.firstRow(
      """
      SELECT 1 FROM joining JOIN join_code ON join_code.id = joining.code
      WHERE join_code.application = ? AND lower(joining.name) = lower(?) AND joining.state = 'waiting'
        AND join_code.revoked_at IS NULL AND join_code.expires_at > ?
      """, [application, name, now.milliseconds]) != nil
  }

  /// Makes the credential, and forgets its secret here.
  fileprivate func settle(_ credential: HostCredential, at now: UnixTime, in db: Database) throws {
    try credential.insert(in: db)
    try db.execute(
      sql: "UPDATE joining SET state = 'joined', secret = NULL, credential = ?, decided_at = ? WHERE id = ?",
      arguments: [credential.id, now.milliseconds, id])
  }
}

extension SQLiteStorage: JoiningStore {
  public func createJoinCode(_ order: JoinOrder, at now: UnixTime) async throws -> StoredJoinCode {
    if let refusal = order.refusal { throw refusal }
    let id = String(try RandomValue.identifier().prefix(12))
    return try await write { db in
      guard let application = try Application.find(nameOrID: order.application, in: db) else {
        throw JoinOrderRefusal.unknownApplication
      }
      let code = StoredJoinCode(
        id: id, application: application.id, uses: Int64(order.uses), group: order.group,
        isUnattended: order.isUnattended,
        createdAt: now, expiresAt: now.advanced(seconds: order.lifetime), revokedAt: nil,
        setNumber: try SQLiteSigningRows(db: db).lastSet()?.set.number)
      try db.execute(
        sql: """
          INSERT INTO join_code (id, application, digest, uses, is_unattended, created_at, expires_at, computer_group,
            set_number)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          id, application.id, order.secretDigest, code.uses, code.isUnattended, now.milliseconds,
          code.expiresAt.milliseconds, code.group, code.setNumber,
        ])
      return code
    }
  }

  public func joinCodes() async throws -> [ListedJoinCode] {
    let now = now()
    return try await read { [clock] db in
      let joinings = try Row.fetchAll(db, sql: "SELECT * FROM joining ORDER BY asked_at, id").map(Joining.init(row:))
      let byCode = Dictionary(grouping: joinings, by: \.code)
      let sql = """
        SELECT join_code.*, application.name AS shown FROM join_code
        JOIN application ON application.id = join_code.application ORDER BY join_code.created_at DESC, join_code.id
        """
      return try Row.fetchAll(db, sql: sql).map { row in
        let code = try StoredJoinCode(row: row)
        return ListedJoinCode(
          code, application: try row.get("shown"), joinings: byCode[code.id] ?? [], at: now, clock)
      }
    }
  }

  public func revokeJoinCode(_ id: String, at now: UnixTime) async throws -> Bool {
    try await write { db in
      guard try db.firstRow("SELECT 1 FROM join_code WHERE id = ?", [id]) != nil else { return false }
      try db.execute(
        sql: "UPDATE join_code SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
        arguments: [now.milliseconds, id])
      try db.execute(
        sql: """
          UPDATE joining SET state = 'refused', secret = NULL, decided_at = ? WHERE code = ? AND state = 'waiting'
          """, arguments: [now.milliseconds, id])
      return true
    }
  }

  public func decideJoin(_ id: String, isApproved: Bool, at now: UnixTime) async throws -> JoinDecision {
    let credential = try RandomValue.identifier()
    return try await write { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT * FROM joining WHERE state = 'waiting' AND (id = ?1 OR name = ?1)", arguments: [id])
      guard let row = rows.first else { return .unknown }
      guard rows.count == 1 else { return .several }
      let joining = try Joining(row: row)
      guard let code = try db.firstRow("SELECT * FROM join_code WHERE id = ?", [joining.code]) else { return .unknown }
      let found = try StoredJoinCode(row: code)
      let application = found.application
      guard isApproved else {
        try db.execute(
          sql: "UPDATE joining SET state = 'refused', secret = NULL, decided_at = ? WHERE id = ?",
          arguments: [now.milliseconds, joining.id])
        return .done(joining)
      }
      guard now < found.expiresAt else { return .expired }
      guard try !HostCredential.isTaken(joining.name, of: application, in: db) else { return .nameTaken }
      let made = HostCredential(
        joining: joining.name, id: credential, of: application, group: found.group,
        secret: Secret(try row.get("secret")), at: now)
      try joining.settle(made, at: now, in: db)
      return .done(joining)
    }
  }

  func join(_ ask: JoinAsk, at now: UnixTime) async throws -> JoinVerdict {
    // Most asks change nothing, a stranger's among them: they get no turn to write.
    let seen = try await read { db in try JoinFacts(ask, at: now, in: db) }
    if let verdict = seen.verdict(at: now) { return verdict }
    let (id, credential) = (try RandomValue.identifier(), try RandomValue.identifier())
    return try await write { db in
      let facts = try JoinFacts(ask, at: now, in: db)
      if let verdict = facts.verdict(at: now) { return verdict }
      guard let code = facts.code else { return .refused(.unknownJoinCode) }
      try db.execute(
        sql: """
          INSERT INTO joining (id, code, name, mark, secret, secret_digest, state, address, asked_at)
          VALUES (?, ?, ?, ?, ?, ?, 'waiting', ?, ?)
          """,
        arguments: [
          id, code.id, ask.request.name, JoinCode.mark(of: ask.request.secret), ask.request.secret.exposedValue,
          ask.secretDigest, ask.address, now.milliseconds,
        ])
      guard code.isUnattended else { return .waiting(id) }
      let made = HostCredential(
        joining: ask.request.name, id: credential, of: code.application, group: code.group,
        secret: ask.request.secret, at: now)
      try Joining(row: try db.firstRow("SELECT * FROM joining WHERE id = ?", [id]) ?? Row()).settle(
        made, at: now, in: db)
      return .joined(made, application: facts.application, code)
    }
  }
}

extension SQLiteStorage {
  func waitingJoin(_ id: String) async throws -> WaitingJoin? {
    try await read { db in
      let sql = """
        SELECT joining.*, application.name AS shown FROM joining JOIN join_code ON join_code.id = joining.code
        JOIN application ON application.id = join_code.application WHERE joining.id = ? AND joining.state = 'waiting'
        """
      guard let row = try db.firstRow(sql, [id]) else { return nil }
      let asks = try db.allRows(
        """
        SELECT session.* FROM session JOIN join_ask ON join_ask.session = session.id WHERE joining = ?
        ORDER BY session.started_at, session.rowid
        """, [id])
      return WaitingJoin(
        joining: try Joining(row: row), application: try row.get("shown"), asks: try asks.map(Session.init(row:)))
    }
  }

  func noteJoinAsk(_ session: String, about joining: String) async throws {
    try await write { try $0.run("INSERT INTO join_ask (session, joining) VALUES (?, ?)", [session, joining]) }
  }
}

extension JoinFacts {
  fileprivate init(_ ask: JoinAsk, at now: UnixTime, in db: Database) throws {
    let code = try db.firstRow("SELECT * FROM join_code WHERE digest = ?", [ask.codeDigest])
      .map(StoredJoinCode.init(row:))
    let row = try code.flatMap {
      try db.firstRow(
        "SELECT * FROM joining WHERE code = ? AND name = ? AND secret_digest = ?",
        [$0.id, ask.request.name, ask.secretDigest])
    }
    let known = try row.map { row in
      let id: String? = row["credential"]
      let own = try id.flatMap { try HostCredential.find($0, in: db) }.flatMap { $0.isRevoked ? nil : $0 }
      let joining = try Joining(row: row)
      return Known(id: joining.id, state: joining.state, credential: own)
    }
    self.init(
      code: code, application: try code.flatMap { try Application.find($0.application, in: db)?.name } ?? "",
      used: try code?.used(in: db) ?? 0, known: known,
      isNameTaken: try code.map {
        try HostCredential.isTaken(ask.request.name, of: $0.application, in: db)
          || Joining.isNameWaiting(ask.request.name, of: $0.application, at: now, in: db)
      } ?? false)
  }
}

extension HostCredential {
  /// The credential of a computer that joins: its name, its host and its secret are its own.
  init(
    joining name: String, id: String, of application: String, group: String, secret: Secret, at now: UnixTime
  ) {
    self.init(
      id: id, application: application, name: name, host: name, secret: secret, createdAt: now, lastUsedAt: nil,
      revokedAt: nil, group: group)
  }
}

extension ListedJoinCode {
  init(_ code: StoredJoinCode, application: String, joinings: [Joining], at now: UnixTime, _ clock: StorageClock) {
    self.init(
      code: code.dated(by: clock), application: application,
      isOver: code.revokedAt != nil || now >= code.expiresAt || joinings.count >= code.uses,
      joinings: joinings.map { $0.dated(by: clock) })
  }
}
