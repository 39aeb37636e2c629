import IAMPASSProtocol

/// What administrators' phones sign: sets of administrators, and applications' lists of users.
///
/// A set of administrators is made once by a command. From then on each further set needs a signature by a key of the set
/// before, and lists need one by a phone of the set in force.
public protocol SigningStore: Sendable {
  /// All sets, the oldest first.
  func administratorSets() async throws -> [StoredAdministratorSet]

  /// Makes the first set of the administrators' phones that there are.
  ///
  /// - Parameter replacing: forgets every set and signed list there is; computers that have joined by them join again.
  /// - Parameter recovery: whether a recovery key is in it, too.
  func createAdministratorSet(
    replacing: Bool, recovery: RecoveryWish, at now: UnixTime
  ) async throws -> FirstSetOutcome

  /// Whose phones would be in that set, by name; empty if it would not be made.
  func firstSigners(replacing: Bool) async throws -> Set<String>

  /// What is not signed at this moment.
  func signingState() async throws -> SigningState

  /// Has the service ask an administrator's phone for a signature.
  ///
  /// - Returns: the order's id.
  func orderDocument(_ order: DocumentOrder, at now: UnixTime) async throws -> String

  /// Where an order stands; nil for one that is not known any more.
  func documentOrder(_ id: String) async throws -> DocumentProgress?

  /// The orderer does not wait any more.
  func withdrawDocument(_ id: String, at now: UnixTime) async throws

  /// The set that would follow, for a recovery key to sign; nil if nothing has changed, or there is no set.
  func nextAdministratorSet(_ wish: RecoveryWish) async throws -> NextSet?

  /// Stores a set that a recovery key has signed.
  ///
  /// - Returns: nil if it is stored; otherwise why it is not.
  func keepAdministratorSet(
    _ set: AdministratorSet, _ proof: DocumentProof, at now: UnixTime
  ) async throws -> DocumentOutcome?
}

extension SigningStore {
  /// Makes the first set, of phones alone.
  public func createAdministratorSet(replacing: Bool, at now: UnixTime) async throws -> FirstSetOutcome {
    try await createAdministratorSet(replacing: replacing, recovery: .keep, at: now)
  }
}
