import IAMPASSProtocol

extension StorageEngine {
  public func checkOwnSeals() async throws {
    try await read { [seals] db in
      for row in try SealableRow.own(in: db) { _ = try seals.open(row.stored, at: row.place, in: db) }
    }
  }

  public func checkSeals() async throws {
    try await checkOwnSeals()
    for table in SealableTable.allCases {
      try await eachPortion(of: table) { [seals] place in
        try await read { db in
          let rows = try table.asked(after: place, in: db)
          for row in rows { _ = try seals.open(row.stored, at: row.place, in: db) }
          return rows
        }
      }
    }
  }

  public func isSealed() async throws -> Bool { try await sealingKeyID() != nil }

  public func areClientsSealed() async throws -> Bool {
    try await readOnce { try SealMark.stored(in: $0).clients == .sealed }
  }

  public func sealingKeyID() async throws -> String? { try await readOnce { try SealMark.stored(in: $0).keyID } }

  public func sealSecrets(at now: UnixTime) async throws -> Int {
    guard let keys = sealKeys else { throw SealFault(.noKey) }
    let sealed: @Sendable (SealableRow, Transaction) throws -> String? = { [seals] row, db in
      guard SealedText(row.stored)?.keyID != keys.firstID else { return nil }
      let secret = try seals.open(row.stored, at: row.place, in: db)
      return try keys.seal(secret, at: row.place, by: keys.firstID)
    }
    // From here on, every writer seals by this key.
    let own = try await write { db in
      let isWhole = try SealMark.stored(in: db).clients == .sealed
      let count = try SealableRow.own(in: db).rewrite(in: db, sealed)
      if !isWhole { try SealMark.store(.sealing, in: db) }
      if count > 0 || !isWhole { try AuditEntry.noteSeal(.secretsSealed, "key=\(keys.firstID)", at: now, in: db) }
      return count
    }
    let isOwn: @Sendable (SealMark) -> Bool = { mark in
      mark.keyID == keys.firstID && (mark.clients == .sealing || mark.clients == .sealed)
    }
    let others = try await rewriteClients(while: isOwn, sealed)
    try await write { db in
      let mark = try SealMark.stored(in: db)
      guard isOwn(mark) else { throw SealFault(.overtaken) }
      if mark.clients == .sealing { try SealMark.store(.sealed, in: db) }
    }
    return own + others
  }

  public func unsealSecrets(at now: UnixTime) async throws -> Int {
    let clear: @Sendable (SealableRow, Transaction) throws -> String? = { [seals] row, db in
      guard SealedText.isSealed(row.stored) else { return nil }
      return try seals.open(row.stored, at: row.place, in: db).exposedValue
    }
    // From here on, every writer stores clients' secrets in clear. The push key goes on to say that some are sealed.
    let begun = try await write { db in
      var mark = try SealMark.stored(in: db)
      if mark.clients != nil, mark.keyID != nil {
        try SealMark.store(.unsealing, in: db)
        mark.clients = .unsealing
      }
      return mark
    }
    // Another unsealing may have come to its end.
    let isOwn: @Sendable (SealMark) -> Bool = { mark in mark == begun || mark == SealMark(keyID: nil) }
    let clients = try await rewriteClients(while: isOwn, clear)
    return try await write { db in
      let mark = try SealMark.stored(in: db)
      guard isOwn(mark) else { throw SealFault(.overtaken) }
      let own = try SealableRow.own(in: db).rewrite(in: db, clear)
      if mark.clients != nil { try SealMark.store(nil, in: db) }
      if own + clients > 0 { try AuditEntry.noteSeal(.secretsUnsealed, nil, at: now, in: db) }
      return own + clients
    }
  }

  /// Replaces stored secrets of sign-in clients. Others are written meanwhile.
  ///
  /// - Parameters:
  ///   - isOwn: whether the database's mark is still the one under which this began. Otherwise another program seals or
  ///     unseals it by now: the two would leave sealed secrets in a database that says it has none.
  ///   - replacement: see ``Swift/Array/rewrite(in:_:)``.
  /// - Returns: how many.
  /// - Throws: ``SealFault/Code/overtaken``. The portions before stay as they are.
  private func rewriteClients(
    while isOwn: @escaping @Sendable (SealMark) -> Bool,
    _ replacement: @escaping @Sendable (SealableRow, Transaction) throws -> String?
  ) async throws -> Int {
    var count = 0
    for table in SealableTable.allCases {
      try await eachPortion(of: table) { place in
        let (rows, changed) = try await write { db in
          let rows = try table.asked(after: place, in: db)
          guard try isOwn(SealMark.stored(in: db)) else { throw SealFault(.overtaken) }
          return (rows, try rows.rewrite(in: db, replacement))
        }
        count += changed
        return rows
      }
    }
    return count
  }

  /// - Parameter work: reads the portion after an id, and returns it.
  private func eachPortion(
    of table: SealableTable, _ work: (_ place: String) async throws -> [SealableRow]
  ) async throws {
    var place = ""
    while let last = try await work(place).last?.id { place = last }
  }
}

extension StorageEngine {
  public func giveUpLostKey(at now: UnixTime) async throws -> GivenUpKey? {
    guard let keys = sealKeys else { throw SealFault(.noKey) }
    guard let lost = try await sealingKeyID(), keys.key(lost) == nil else { return nil }
    // The service's own keys come last: they say that a key is lost, so that a second run goes on.
    var clients = LostClients()
    for table in SealableTable.allCases {
      try await eachPortion(of: table) { place in
        let (rows, found) = try await write { db in
          let rows = try table.rows(after: place, in: db)
          var found = LostClients()
          for row in rows where row.isLost(to: keys) { try found.giveUp(row, keys, at: now, in: db) }
          return (rows, found)
        }
        clients.add(found)
        return rows
      }
    }
    return try await write { [clients] db in
      guard let lost = try SealMark.stored(in: db).keyID, keys.key(lost) == nil else { return nil }
      let removed = try db.change("DELETE FROM notification_service RETURNING application, service")
      let notifications = try removed.map { row -> String in
        let application: String = try row.get("application")
        let name = try db.text("SELECT name FROM application WHERE id = $1", application)
        return "\(name ?? application): \(try row.get("service") as String)"
      }
      try db.execute("DELETE FROM signing_key")
      try db.execute("DELETE FROM push_subscription")
      let push = try keys.seal(PushTargets.newKey(), at: .pushKey, by: keys.firstID)
      try db.execute("UPDATE push_key SET private_key = $1", push)
      try AuditEntry.noteSeal(.lostKeyGivenUp, "key=\(lost), new=\(keys.firstID)", at: now, in: db)
      return GivenUpKey(id: lost, notifications: notifications.sorted(), clients: clients)
    }
  }
}

extension LostClients {
  fileprivate mutating func add(_ other: LostClients) {
    applications += other.applications
    credentials += other.credentials
    joinings += other.joinings
  }

  /// Has the row's client need a new secret. Nobody knows the one that is stored now.
  fileprivate mutating func giveUp(
    _ row: SealableRow, _ keys: SealKeys, at now: UnixTime, in db: some StorageTransaction
  ) throws {
    let replace = { try row.replace(by: keys.seal(RandomValue.secret(), at: row.place, by: keys.firstID), in: db) }
    switch row.place {
    case .joining(let id):
      let name = try db.text("SELECT name FROM joining WHERE id = $1", id)
      try db.execute(
        "UPDATE joining SET state = 'refused', secret = NULL, decided_at = $1 WHERE id = $2", now.milliseconds, id)
      joinings.append(name ?? id)
    case .endpoint(let phone), .endpointSecret(let phone):
      try db.execute("DELETE FROM push_subscription WHERE phone = $1", phone)
    case .appToken(let phone): try db.execute("DELETE FROM app_token WHERE phone = $1", phone)
    case .session, .reply: try replace()
    case .application(let id):
      try replace()
      applications.append(try Application.find(id, in: db)?.name ?? id)
    case .computer(let id):
      try replace()
      guard let credential = try HostCredential.find(id, in: db), !credential.isRevoked else { return }
      _ = try credential.revoke(at: now, in: db)
      let application = try Application.find(credential.application, in: db)?.name
      credentials.append("\(application ?? credential.application): \(credential.name)")
    case .pushKey, .signingKey, .notifications: break
    }
  }
}

extension SealableTable {
  /// A portion, asked for together with the mark.
  fileprivate func asked(after id: String, in db: some StorageTransaction) throws -> [SealableRow] {
    try db.prefetch { db in
      _ = try SealMark.stored(in: db)
      _ = try rows(after: id, in: db)
    }
    return try rows(after: id, in: db)
  }
}

extension SealableRow {
  /// Whether it is sealed by none of these keys.
  fileprivate func isLost(to keys: SealKeys) -> Bool {
    guard SealedText.isSealed(stored) else { return false }
    return SealedText(stored).map { keys.key($0.keyID) == nil } ?? true
  }
}

extension [SealableRow] {
  /// Replaces what is stored.
  ///
  /// - Parameter replacement: what is to be stored in place of a row's value; nil: the row stays.
  /// - Returns: how many.
  fileprivate func rewrite<Transaction: StorageTransaction>(
    in db: Transaction, _ replacement: (SealableRow, Transaction) throws -> String?
  ) throws -> Int {
    // All are read before the first is changed, the mark too.
    let changes = try compactMap { row in try replacement(row, db).map { (row, $0) } }
    guard !changes.isEmpty else { return 0 }
    let last: Int64 = try db.first("SELECT coalesce(max(id), 0) AS id FROM audit")?.get("id") ?? 0
    for (row, stored) in changes { try row.replace(by: stored, in: db) }
    // Nobody has set other notifications or another secret: the triggers do not know a seal.
    try db.execute(
      "DELETE FROM audit WHERE id > $1 AND event IN ('notifications set', 'application secret renewed')", last)
    return changes.count
  }
}

extension AuditEntry {
  fileprivate static func noteSeal(
    _ event: NotedEvent, _ reason: String?, at now: UnixTime, in db: some StorageTransaction
  ) throws {
    try db.execute(
      "INSERT INTO audit (at, event, reason) VALUES ($1, $2, $3)", now.milliseconds, event.rawValue, reason)
  }
}
