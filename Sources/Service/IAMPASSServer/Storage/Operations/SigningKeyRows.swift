import IAMPASSProtocol

extension StorageEngine {
  func signingKeys(at now: UnixTime) async throws -> [SigningKey] {
    let known = try await read { try SigningKey.published(in: $0) }
    guard known.isEmpty else { return known }
    return try await write { db in
      if try SigningKey.published(in: db).isEmpty { try SigningKey.generate(at: now).insert(in: db) }
      return try SigningKey.published(in: db)
    }
  }

  func rotateSigningKey(at now: UnixTime) async throws -> [SigningKey] {
    try await write { db in
      try SigningKey.generate(at: now).insert(in: db)
      let kept = try SigningKey.published(in: db)
      for row in try db.all("SELECT id FROM signing_key") {
        let id: String = try row.get("id")
        if !kept.contains(where: { $0.id == id }) { try db.execute("DELETE FROM signing_key WHERE id = $1", id) }
      }
      return kept
    }
  }
}

/// A key that others verify approval tokens by.
public struct PublishedKey: Sendable {
  /// `kid`: the key's thumbprint (RFC 7638).
  public let id: String
  /// By Unix time, also if the service's own is elsewhere.
  public let madeAt: UnixTime

  init(_ key: SigningKey, by clock: StorageClock) {
    id = key.id
    madeAt = clock.unixTime(of: key.madeAt)
  }
}

extension StorageEngine {
  /// The published keys, the newest first. The first of all is made here.
  public func publishedKeys(at now: UnixTime) async throws -> [PublishedKey] {
    try await signingKeys(at: now).map { PublishedKey($0, by: clock) }
  }

  /// Makes a new key and returns the published ones, the newest first.
  public func rotatedKeys(at now: UnixTime) async throws -> [PublishedKey] {
    try await rotateSigningKey(at: now).map { PublishedKey($0, by: clock) }
  }
}

extension SigningKey {
  fileprivate static func published(in db: some StorageWork) throws -> [SigningKey] {
    try db.all("SELECT * FROM signing_key ORDER BY made_at DESC, number DESC LIMIT $1", publishedCount).map {
      try SigningKey(
        pem: Secret($0.get("private_key")), madeAt: UnixTime(milliseconds: $0.get("made_at")))
    }
  }

  fileprivate func insert(in db: some StorageWork) throws {
    try db.execute(
      "INSERT INTO signing_key (id, private_key, made_at) VALUES ($1, $2, $3)", id, pem.exposedValue,
      madeAt.milliseconds)
  }
}
