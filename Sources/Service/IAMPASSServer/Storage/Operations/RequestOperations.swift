import IAMPASSProtocol

extension StorageEngine {
  func signInClient(_ id: String) async throws -> SignInClient? { try await read { try SignInClient.find(id, in: $0) } }

  func signInClients(_ ids: [String]) async throws -> [String: SignInClient] {
    try await read { db in
      try db.prefetch { for id in ids { _ = try SignInClient.find(id, in: $0) } }
      var found: [String: SignInClient] = [:]
      for id in ids { found[id] = try SignInClient.find(id, in: db) }
      return found
    }
  }

  func settings(of application: String) async throws -> ApplicationSettings {
    try await readOnce { try ApplicationSettings.of(application, in: $0) }
  }

  func mark() async throws -> ServiceMark { try await readOnce { try HistoryMark.current(in: $0) } }
}

extension ServiceEngine {
  func useNonce(_ nonce: SignedNonce, at now: UnixTime) async throws -> Bool {
    try await useNonce(NonceUse(nonce: nonce, now: now)).isNew
  }

  func useNonce(_ nonce: SignedNonce, telling session: String, at now: UnixTime) async throws -> SessionMoment? {
    try await useNonce(NonceUse(nonce: nonce, now: now, session: session)).moment
  }

  func useNonce(
    _ nonce: SignedNonce, reading id: String, at now: UnixTime
  ) async throws -> (isNew: Bool, signInClient: SignInClient?) {
    let outcome = try await useNonce(NonceUse(nonce: nonce, now: now, signInClient: id))
    return (outcome.isNew, outcome.signInClient)
  }
}

extension SignInClient {
  static func find(_ id: String, in db: some StorageTransaction) throws -> SignInClient? {
    // Neither question depends on the other's answer: an engine asks both at once.
    let credential = try HostCredential.find(id, in: db)
    let applications = try db.all(
      "SELECT * FROM application WHERE id IN ($1, (SELECT application FROM host_credential WHERE id = $1))", id
    ).map(Application.init(row:))
    if let own = applications.first(where: { $0.id == id }) { return SignInClient(application: own, credential: nil) }
    guard let credential, let application = applications.first(where: { $0.id == credential.application }) else {
      return nil
    }
    return SignInClient(application: application, credential: credential)
  }

  /// As it stands now: hosts' credentials may be revoked at any time.
  func isUsable(in db: some StorageTransaction) throws -> Bool {
    guard let credential else { return true }
    return try HostCredential.find(credential.id, in: db).map { !$0.isRevoked } ?? false
  }
}
