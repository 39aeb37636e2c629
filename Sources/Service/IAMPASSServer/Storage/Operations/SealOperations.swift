import IAMPASSProtocol

extension StorageEngine {
  public func checkSeals() async throws {
    try await read { [seals] db in
      for row in try SealableRow.all(in: db) { _ = try seals.open(row.stored, at: row.place, in: db) }
    }
  }

  public func isSealed() async throws -> Bool { try await sealingKeyID() != nil }

  public func sealingKeyID() async throws -> String? { try await readOnce { try SealMark.stored(in: $0).keyID } }

  public func giveUpLostKey(at now: UnixTime) async throws -> GivenUpKey? {
    guard let keys = sealKeys else { throw SealFault(.noKey) }
    return try await write { db in
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
      try db.execute(
        "INSERT INTO audit (at, event, reason) VALUES ($1, $2, $3)", now.milliseconds, "lost key given up",
        "key=\(lost), new=\(keys.firstID)")
      return GivenUpKey(id: lost, notifications: notifications.sorted())
    }
  }

  public func sealSecrets(at now: UnixTime) async throws -> Int {
    guard let keys = sealKeys else { throw SealFault(.noKey) }
    return try await write { [seals] db in
      try change("secrets sealed", "key=\(keys.firstID)", at: now, in: db) { row in
        guard SealedText(row.stored)?.keyID != keys.firstID else { return nil }
        let secret = try seals.open(row.stored, at: row.place, in: db)
        return try keys.seal(secret, at: row.place, by: keys.firstID)
      }
    }
  }

  public func unsealSecrets(at now: UnixTime) async throws -> Int {
    try await write { [seals] db in
      try change("secrets unsealed", nil, at: now, in: db) { row in
        guard SealedText.isSealed(row.stored) else { return nil }
        return try seals.open(row.stored, at: row.place, in: db).exposedValue
      }
    }
  }

  /// Replaces stored secrets, with an entry in the audit if there were any.
  ///
  /// - Parameter replacement: what is to be stored in place of a row's value; nil: the row stays.
  private func change(
    _ event: String, _ reason: String?, at now: UnixTime, in db: Transaction,
    _ replacement: (SealableRow) throws -> String?
  ) throws -> Int {
    // All are read before the first is changed, the mark too.
    let changes = try SealableRow.all(in: db).compactMap { row in try replacement(row).map { (row, $0) } }
    guard !changes.isEmpty else { return 0 }
    let last: Int64 = try db.first("SELECT coalesce(max(id), 0) AS id FROM audit")?.get("id") ?? 0
    for (row, stored) in changes { try row.replace(by: stored, in: db) }
    // Nobody has set other notifications: the trigger does not know a seal.
    try db.execute("DELETE FROM audit WHERE id > $1 AND event = 'notifications set'", last)
    try db.execute("INSERT INTO audit (at, event, reason) VALUES ($1, $2, $3)", now.milliseconds, event, reason)
    return changes.count
  }
}
