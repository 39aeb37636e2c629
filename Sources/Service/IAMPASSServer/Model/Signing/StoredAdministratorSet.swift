import IAMPASSProtocol

/// A set of administrators with what a key of the set before signed.
public struct StoredAdministratorSet: Sendable, Equatable {
  public let set: AdministratorSet
  /// Nil for the first.
  public let proof: DocumentProof?
  /// Who signed it; empty for the first.
  public let signer: String
  /// Service time.
  public let madeAt: UnixTime

  var signed: SignedAdministratorSet { SignedAdministratorSet(set: set, proof: proof) }
}

public enum FirstSetOutcome: Sendable, Equatable {
  case made(AdministratorSet)
  /// There is one.
  case exists
  /// No administrator of the role *admin* has a phone whose key can sign.
  case noPhone
}

/// What is to become of the set's recovery key.
public enum RecoveryWish: Sendable, Equatable {
  case keep
  /// This key is the only one from then on.
  case replace(P256PublicKey)
}

/// The set that follows the one in force.
public struct NextSet: Sendable {
  public let set: AdministratorSet
  /// In plain words.
  public let changes: [String]
}
