import IAMPASSProtocol

extension StoredJoinCode {
  init(row: some StorageRow) throws {
    try self.init(
      id: row.get("id"), application: row.get("application"), uses: row.get("uses"),
      group: row.get("computer_group"), isUnattended: row.get("is_unattended"),
      createdAt: UnixTime(milliseconds: row.get("created_at")),
      expiresAt: UnixTime(milliseconds: row.get("expires_at")), revokedAt: row.time("revoked_at"),
      setNumber: row.get("set_number"), used: row.get("used"))
  }

  /// No other server makes a code, or decides by one, until this transaction ends: uses and names are counted.
  static func lockAll(in db: some StorageTransaction) throws {
    try db.lock("LOCK TABLE join_code IN SHARE ROW EXCLUSIVE MODE")
  }
}

extension Joining {
  init(row: some StorageRow) throws {
    let state: String = try row.get("state")
    try self.init(
      id: row.get("id"), code: row.get("code"), name: row.get("name"), mark: row.get("mark"),
      state: State(rawValue: state) ?? .refused, address: row.get("address"),
      askedAt: UnixTime(milliseconds: row.get("asked_at")))
  }

  fileprivate static func isNameWaiting(
    _ name: String, of application: String, at now: UnixTime, in db: some StorageTransaction
  ) throws -> Bool {
    try db.has(
      """
      SELECT joining.id FROM joining JOIN join_code ON join_code.id = joining.code
      WHERE join_code.application = $1 AND lower(joining.name COLLATE "C") = lower($2 COLLATE "C")
        AND joining.state = 'waiting' AND join_code.revoked_at IS NULL AND join_code.expires_at > $3
      """, application, name, now.milliseconds)
  }

  /// Makes the credential, and forgets its secret here.
  fileprivate static func settle(
    _ id: String, _ credential: HostCredential, at now: UnixTime, in db: some StorageTransaction, _ seals: Seals
  ) throws {
    try credential.insert(in: db, seals)
    try db.execute(
      "UPDATE joining SET state = 'joined', secret = NULL, credential = $1, decided_at = $2 WHERE id = $3",
      credential.id, now.milliseconds, id)
  }
}

extension StorageEngine {
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
        setNumber: try StoredSigningRows(db: db).lastSet()?.set.number)
      try db.execute(
        """
        INSERT INTO join_code (id, application, digest, uses, is_unattended, created_at, expires_at, computer_group,
          set_number)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """, id, application.id, order.secretDigest, code.uses, code.isUnattended, now.milliseconds,
        code.expiresAt.milliseconds, code.group, code.setNumber)
      return code
    }
  }

  public func joinCodes() async throws -> [ListedJoinCode] {
    let now = now()
    return try await read { [clock] db in
      let joinings = try db.all("SELECT * FROM joining ORDER BY asked_at, id").map(Joining.init(row:))
      let byCode = Dictionary(grouping: joinings, by: \.code)
      let rows = try db.all(
        """
        SELECT join_code.*, application.name AS shown FROM join_code
        JOIN application ON application.id = join_code.application ORDER BY join_code.created_at DESC, join_code.id
        """)
      return try rows.map { row in
        let code = try StoredJoinCode(row: row)
        return ListedJoinCode(
          code, application: try row.get("shown"), joinings: byCode[code.id] ?? [], at: now, clock)
      }
    }
  }

  public func revokeJoinCode(_ id: String, at now: UnixTime) async throws -> Bool {
    try await write { db in
      try StoredJoinCode.lockAll(in: db)
      guard try db.has("SELECT id FROM join_code WHERE id = $1", id) else { return false }
      try db.execute(
        "UPDATE join_code SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", now.milliseconds, id)
      try db.execute(
        "UPDATE joining SET state = 'refused', secret = NULL, decided_at = $1 WHERE code = $2 AND state = 'waiting'",
        now.milliseconds, id)
      return true
    }
  }

  public func decideJoin(_ id: String, isApproved: Bool, at now: UnixTime) async throws -> JoinDecision {
    let credential = try RandomValue.identifier()
    return try await write { [seals] db in
      try StoredJoinCode.lockAll(in: db)
      let rows = try db.all(
        """
        SELECT * FROM joining WHERE state = 'waiting' AND id = $1
        UNION SELECT * FROM joining WHERE state = 'waiting' AND name = $1
        """, id)
      guard let row = rows.first else { return .unknown }
      guard rows.count == 1 else { return .several }
      let joining = try Joining(row: row)
      guard let code = try db.first("SELECT * FROM join_code WHERE id = $1", joining.code) else { return .unknown }
      let found = try StoredJoinCode(row: code)
      let application = found.application
      guard isApproved else {
        try db.execute(
          "UPDATE joining SET state = 'refused', secret = NULL, decided_at = $1 WHERE id = $2", now.milliseconds,
          joining.id)
        return .done(joining)
      }
      guard now < found.expiresAt else { return .expired }
      guard try !HostCredential.isTaken(joining.name, of: application, in: db) else { return .nameTaken }
      let made = HostCredential(
        joining: joining.name, id: credential, of: application, group: found.group,
        secret: try seals.open(row.get("secret"), at: .joining(joining.id), in: db), at: now)
      try Joining.settle(joining.id, made, at: now, in: db, seals)
      return .done(joining)
    }
  }

  func join(_ received: ReceivedJoinRequest, at now: UnixTime) async throws -> JoinVerdict {
    // Most asks change nothing, a stranger's among them: they get no turn to write.
    let seen = try await read { db in try JoinFacts(received, at: now, in: db) }
    if let verdict = seen.verdict(at: now) { return verdict }
    let (id, credential) = (try RandomValue.identifier(), try RandomValue.identifier())
    return try await write { [seals] db in
      try StoredJoinCode.lockAll(in: db)
      let facts = try JoinFacts(received, at: now, in: db)
      if let verdict = facts.verdict(at: now) { return verdict }
      guard let code = facts.code else { return .refused(.unknownJoinCode) }
      try db.execute(
        """
        INSERT INTO joining (id, code, name, mark, secret, secret_digest, state, address, asked_at)
        VALUES ($1, $2, $3, $4, $5, $6, 'waiting', $7, $8)
        """, id, code.id, received.request.name, JoinCode.mark(of: received.request.secret),
        seals.close(received.request.secret, at: .joining(id), in: db), received.secretDigest, received.address,
        now.milliseconds)
      guard code.isUnattended else { return .waiting(id) }
      let made = HostCredential(
        joining: received.request.name, id: credential, of: code.application, group: code.group,
        secret: received.request.secret, at: now)
      try Joining.settle(id, made, at: now, in: db, seals)
      return .joined(made.known, application: facts.application, code)
    }
  }
}

extension StorageEngine {
  func waitingJoin(_ id: String) async throws -> WaitingJoin? {
    try await read { db in
      let row = try db.first(
        """
        SELECT joining.*, application.name AS shown FROM joining JOIN join_code ON join_code.id = joining.code
        JOIN application ON application.id = join_code.application WHERE joining.id = $1 AND joining.state = 'waiting'
        """, id)
      guard let row else { return nil }
      let asks = try db.all(
        """
        SELECT session.* FROM session JOIN join_ask ON join_ask.session = session.id WHERE joining = $1
        ORDER BY session.started_at, session.number
        """, id)
      return WaitingJoin(
        joining: try Joining(row: row), application: try row.get("shown"), asks: try asks.map(Session.init(row:)))
    }
  }

  func noteJoinAsk(_ session: String, about joining: String) async throws -> Bool {
    try await write { db in
      let added = try db.change(
        "INSERT INTO join_ask (session, joining) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING session", session,
        joining)
      return !added.isEmpty
    }
  }
}

extension JoinFacts {
  fileprivate init(_ received: ReceivedJoinRequest, at now: UnixTime, in db: some StorageTransaction) throws {
    let code = try db.first("SELECT * FROM join_code WHERE digest = $1", received.codeDigest).map(
      StoredJoinCode.init(row:))
    let row = try code.flatMap {
      try db.first(
        "SELECT * FROM joining WHERE code = $1 AND name = $2 AND secret_digest = $3", $0.id, received.request.name,
        received.secretDigest)
    }
    let known = try row.map { row in
      let id: String? = try row.get("credential")
      let own = try id.flatMap { try HostCredential.find($0, in: db) }.flatMap { $0.isRevoked ? nil : $0 }
      let joining = try Joining(row: row)
      return Known(id: joining.id, state: joining.state, credential: own)
    }
    // They decide nothing about one that waits, which asks often.
    let codeOfNew = known == nil ? code : nil
    self.init(
      code: code, application: try code.flatMap { try Application.find($0.application, in: db)?.name } ?? "",
      used: codeOfNew?.used ?? 0, known: known,
      isNameTaken: try codeOfNew.map {
        try HostCredential.isTaken(received.request.name, of: $0.application, in: db)
          || Joining.isNameWaiting(received.request.name, of: $0.application, at: now, in: db)
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
      code: code.dated(by: clock), application: application, isOver: code.isOver(at: now),
      joinings: joinings.map { $0.dated(by: clock) })
  }
}
