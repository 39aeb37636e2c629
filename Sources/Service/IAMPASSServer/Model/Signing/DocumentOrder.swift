/// What an administrator is to sign.
public struct DocumentOrder: Sendable, Equatable {
  public enum Subject: Sendable, Equatable {
    /// The users of the application with this id.
    case users(application: String)
    case administrators(RecoveryWish)
  }

  public let subject: Subject
  /// Whose phone is asked.
  public let administrator: String

  public init(_ subject: Subject, by administrator: String) {
    self.subject = subject
    self.administrator = administrator
  }
}

/// How far an order is.
public enum DocumentProgress: Sendable, Equatable {
  /// The service has not taken it yet.
  case ordered
  /// The phone is asked.
  case asked
  case ended(DocumentOutcome)
}

/// What became of a document that was to be signed.
public enum DocumentOutcome: String, Sendable, CaseIterable {
  case signed
  /// Everything is signed as it is.
  case nothing = "nothing to sign"
  /// There is no set of administrators.
  case noSet = "no set"
  /// None of the administrator's phones is in the set in force.
  case notSigner = "not a signer"
  /// The document would be one that no computer takes.
  case unfit
  /// The phone has another open request.
  case busy
  /// The phone cannot be asked.
  case notAsked = "not asked"
  case denied
  case notAnswered = "not answered"
  /// What the phone sent proves nothing.
  case notProven = "not proven"
  /// Something newer was signed meanwhile.
  case outdated
  /// The users or their phones have changed each time while the list was read.
  case changing
  /// The service failed too often one time after the other, as with a damaged database. Its log says why.
  case failed
  case withdrawn
}
