import IAMPASSProtocol

extension StorageEngine {
  func signInClient(_ id: String) async throws -> SignInClient? {
    try await read { [seals] in try SignInClient.find(id, in: $0, seals) }
  }

  func signInClients(_ ids: [String]) async throws -> [String: Result<SignInClient, any Error>] {
    try await read { [seals] db in
      try db.prefetch { try SignInClient.askAll(ids, in: $0, seals) }
      var found: [String: Result<SignInClient, any Error>] = [:]
      for id in ids {
        do { found[id] = try SignInClient.find(id, in: db, seals).map { .success($0) } } catch
          where error is DamagedRow || error is SealFault
        { found[id] = .failure(error) }
      }
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
  /// Its secret is opened. Another one's of the same application is not.
  static func find(_ id: String, in db: some StorageTransaction, _ seals: Seals) throws -> SignInClient? {
    // Neither question depends on the other's answer: an engine asks both at once.
    let computer = try HostCredential.row(id, in: db)
    let applications = try db.all(
      "SELECT * FROM application WHERE id IN ($1, (SELECT application FROM host_credential WHERE id = $1))", id
    ).map { (known: try KnownApplication(row: $0), row: $0) }
    if let own = applications.first(where: { $0.known.id == id }) {
      let secret = try seals.open(own.row.get("secret"), at: .application(id), in: db)
      return SignInClient(application: own.known, credential: nil, secret: secret)
    }
    guard let computer else { return nil }
    let credential = try KnownCredential(row: computer)
    guard let application = applications.first(where: { $0.known.id == credential.application })?.known else {
      return nil
    }
    let secret = try seals.open(computer.get("secret"), at: .computer(id), in: db)
    return SignInClient(application: application, credential: credential, secret: secret)
  }

  /// Asks all questions of ``find(_:in:_:)``.
  static func askAll(_ ids: [String], in db: some StorageTransaction, _ seals: Seals) throws {
    for id in ids { _ = try find(id, in: db, seals) }
    // It says whether one in clear is accepted.
    if seals.keys != nil, !ids.isEmpty { _ = try SealMark.stored(in: db) }
  }

  /// As it stands now: hosts' credentials may be revoked at any time.
  func isUsable(in db: some StorageTransaction) throws -> Bool {
    guard let credential else { return true }
    return try HostCredential.find(credential.id, in: db).map { !$0.isRevoked } ?? false
  }
}
