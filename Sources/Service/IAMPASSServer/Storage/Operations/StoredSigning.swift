import IAMPASSProtocol

extension StorageEngine {
  func seeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value {
    try await read { try work(StoredSigningRows(db: $0)) }
  }

  func changeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value {
    try await write { try work(StoredSigningRows(db: $0)) }
  }
}

/// An engine as ``SigningRowsStore``, which is the service's own, for the commands, whose protocols are public.
private struct EngineSigning<Engine: StorageEngine>: SigningRowsStore {
  let engine: Engine

  func seeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value { try await engine.seeSigning(work) }

  func changeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value { try await engine.changeSigning(work) }
}

extension StorageEngine {
  private var signing: EngineSigning<Self> { EngineSigning(engine: self) }

  public func administratorSets() async throws -> [StoredAdministratorSet] { try await signing.storedSets() }

  public func createAdministratorSet(
    replacing: Bool, recovery: RecoveryWish, at now: UnixTime
  ) async throws -> FirstSetOutcome {
    try await signing.makeFirstSet(replacing: replacing, recovery: recovery, at: now)
  }

  public func firstSigners(replacing: Bool) async throws -> Set<String> {
    try await signing.namesOfFirstSigners(replacing: replacing)
  }

  public func signingState() async throws -> SigningState { try await signing.stateOfSigning() }

  public func orderDocument(_ order: DocumentOrder, at now: UnixTime) async throws -> String {
    try await signing.order(order, at: now)
  }

  public func documentOrder(_ id: String) async throws -> DocumentProgress? { try await signing.progress(of: id) }

  public func withdrawDocument(_ id: String, at now: UnixTime) async throws {
    guard let session = try await signing.withdraw(id, at: now) else { return }
    _ = try await changeSession(session) { $0.logOut(at: now) }
  }

  public func nextAdministratorSet(_ wish: RecoveryWish) async throws -> NextSet? {
    try await signing.setThatFollows(wish)
  }

  public func keepAdministratorSet(
    _ set: AdministratorSet, _ proof: DocumentProof, at now: UnixTime
  ) async throws -> DocumentOutcome? { try await signing.keepSet(set, proof, at: now) }
}
