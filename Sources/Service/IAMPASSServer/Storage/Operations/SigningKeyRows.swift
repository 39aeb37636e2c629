import IAMPASSProtocol

extension StorageEngine {
  func signingKeys(at now: UnixTime) async throws -> [SigningKey] {
    let seals = seals
    let known = try await read { try SigningKey.all(in: $0, seals).published(at: now) }
    guard known.isEmpty else { return known }
    // The first one is made by the service itself, whoever asked for it.
    return try await AuditActor.$current.withValue(.service) {
      try await write { db in
        if try SigningKey.all(in: db, seals).isEmpty { try SigningKey.generate(at: now).insert(in: db, seals) }
        return try SigningKey.all(in: db, seals).published(at: now)
      }
    }
  }

  func rotateSigningKey(at now: UnixTime, isUrgent: Bool) async throws -> [SigningKey]? {
    try await write { [seals] db in
      let known = try SigningKey.all(in: db, seals)
      guard isUrgent || known.signer(at: now)?.id == known.first?.id else { return nil }
      let key = try SigningKey.generate(at: now)
      try key.insert(in: db, seals)
      let kept = isUrgent ? [key] : ([key] + known).published(at: now)
      for old in known where !kept.contains(where: { $0.id == old.id }) {
        try db.execute("DELETE FROM signing_key WHERE id = $1", old.id)
      }
      return kept
    }
  }
}

extension StorageEngine {
  /// The published keys, the newest first. The first of all is made here.
  public func publishedKeys(at now: UnixTime) async throws -> [PublishedKey] {
    PublishedKey.list(try await signingKeys(at: now), at: now, by: clock)
  }

  public func rotatedKeys(at now: UnixTime, isUrgent: Bool) async throws -> [PublishedKey]? {
    try await rotateSigningKey(at: now, isUrgent: isUrgent).map { PublishedKey.list($0, at: now, by: clock) }
  }
}

extension SigningKey {
  /// The newest first. Each rotation removes what is published no more.
  fileprivate static func all<Transaction: StorageTransaction>(in db: Transaction, _ seals: Seals) throws
    -> [SigningKey]
  {
    let rows = { (db: Transaction) in try db.all("SELECT * FROM signing_key ORDER BY made_at DESC, number DESC") }
    try db.prefetch { db in
      _ = try SealMark.stored(in: db)
      _ = try rows(db)
    }
    return try rows(db).map { row in
      let id: String = try row.get("id")
      return try SigningKey(
        pem: seals.open(row.get("private_key"), at: .signingKey(id), in: db),
        madeAt: UnixTime(milliseconds: row.get("made_at")))
    }
  }

  fileprivate func insert(in db: some StorageTransaction, _ seals: Seals) throws {
    try db.execute(
      "INSERT INTO signing_key (id, private_key, made_at) VALUES ($1, $2, $3)", id,
      try seals.close(pem, at: .signingKey(id), in: db), madeAt.milliseconds)
  }
}
