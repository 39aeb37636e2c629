import IAMPASSProtocol

/// A document whose digest was computed from what ``lines`` and the other texts show. Only ``DocumentReview`` makes
/// one.
///
/// Show all of it before the user approves. The texts have no invisible characters.
public struct ReviewedDocument: Sendable, Equatable {
  public let document: SignedDocument
  /// What the document is, such as "users of 8f14…, version 1.8".
  public let title: String
  /// What signing it does, such as "2 changes to version 1.7, which “alice” signed".
  public let heading: String
  /// What else the user must know, such as why the whole list is shown.
  public let notes: [String]
  /// The changes, or all users if there is nothing to compare with. There may be 100,000 lines.
  public let lines: [String]
  /// The phone's memory after it has signed. Documents that its user did not approve are not remembered.
  public let memoryOnceSigned: DocumentMemory
}

/// The result of a document's review.
public enum DocumentReview: Sendable, Equatable {
  case fits(ReviewedDocument)
  /// The document does not fit, and cannot be approved.
  case misfit(DocumentMisfit)
}
