import IAMPASSProtocol

extension StorageEngine {
  func starter(_ id: String) async throws -> Starter? { try await read { try Starter.find(id, in: $0) } }

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
}

extension Starter {
  static func find(_ id: String, in db: some StorageWork) throws -> Starter? {
    if let application = try Application.find(id, in: db) { return Starter(application: application, credential: nil) }
    guard let credential = try HostCredential.find(id, in: db),
      let application = try Application.find(credential.application, in: db)
    else { return nil }
    return Starter(application: application, credential: credential)
  }

  /// As it stands now: hosts' credentials may be revoked at any time.
  func isUsable(in db: some StorageWork) throws -> Bool {
    guard let credential else { return true }
    return try HostCredential.find(credential.id, in: db).map { !$0.isRevoked } ?? false
  }
}
