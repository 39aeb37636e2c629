import IAMPASSProtocol

extension StorageEngine {
  func starter(_ id: String) async throws -> Starter? { try await read { try Starter.find(id, in: $0) } }

  func starters(_ ids: [String]) async throws -> [String: Starter] {
    try await read { db in
      try db.ahead { for id in ids { _ = try Starter.find(id, in: $0) } }
      var found: [String: Starter] = [:]
      for id in ids { found[id] = try Starter.find(id, in: db) }
      return found
    }
  }

  func settings(of application: String) async throws -> ApplicationSettings {
    try await glance { try ApplicationSettings.of(application, in: $0) }
  }

  func mark() async throws -> ServiceMark { try await glance { try HistoryMark.current(in: $0) } }
}

extension ServiceEngine {
  func spend(_ nonce: SignedNonce, at now: UnixTime) async throws -> Bool {
    try await spend(Spending(nonce: nonce, now: now)).isNew
  }

  func spend(_ nonce: SignedNonce, telling session: String, at now: UnixTime) async throws -> SessionMoment? {
    try await spend(Spending(nonce: nonce, now: now, session: session)).moment
  }

  func spend(
    _ nonce: SignedNonce, reading id: String, at now: UnixTime
  ) async throws -> (isNew: Bool, starter: Starter?) {
    let outcome = try await spend(Spending(nonce: nonce, now: now, starter: id))
    return (outcome.isNew, outcome.starter)
  }
}

extension Starter {
  static func find(_ id: String, in db: some StorageWork) throws -> Starter? {
    // Neither question depends on the other's answer: an engine asks both at once.
    let credential = try HostCredential.find(id, in: db)
    let applications = try db.all(
      "SELECT * FROM application WHERE id IN ($1, (SELECT application FROM host_credential WHERE id = $1))", id
    ).map(Application.init(row:))
    if let own = applications.first(where: { $0.id == id }) { return Starter(application: own, credential: nil) }
    guard let credential, let application = applications.first(where: { $0.id == credential.application }) else {
      return nil
    }
    return Starter(application: application, credential: credential)
  }

  /// As it stands now: hosts' credentials may be revoked at any time.
  func isUsable(in db: some StorageWork) throws -> Bool {
    guard let credential else { return true }
    return try HostCredential.find(credential.id, in: db).map { !$0.isRevoked } ?? false
  }
}
