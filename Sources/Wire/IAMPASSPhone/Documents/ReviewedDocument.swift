import IAMPASSProtocol

/// A document that fits: its digest is that of what ``lines`` and the rest show. Only ``DocumentReview`` makes one.
///
/// Show all of it before the user approves. The texts have no invisible characters.
public struct ReviewedDocument: Sendable, Equatable {
  public let document: SignedDocument
  /// What the document is, such as "users of 8f14…, version 1.8".
  public let title: String
  /// What signing it does, such as "2 changes to version 1.7, which “alice” signed".
  public let heading: String
  /// What the user must know beside, such as why the whole list is shown.
  public let notes: [String]
  /// The changes; or all users, if there is nothing to compare with. There may be 100,000.
  public let lines: [String]
  /// What the phone remembers once it has signed. What its user did not approve is not remembered.
  public let memoryOnceSigned: DocumentMemory
}

/// What a phone found out about a document.
public enum DocumentReview: Sendable, Equatable {
  case fits(ReviewedDocument)
  /// It cannot be approved.
  case misfit(DocumentMisfit)
}
