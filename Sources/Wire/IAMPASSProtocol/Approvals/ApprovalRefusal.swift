/// Why an approval from the service proves nothing. In each case the service, or an intermediary, claims something that
/// the phone did not sign.
public enum ApprovalRefusal: Error, Sendable, Equatable {
  /// The service says `active` without the phone's signed approval.
  case missing
  case malformed
  /// This computer does not trust the phone for this user.
  case otherPhone
  /// The trusted phone did not sign this.
  case signature
  /// The phone signed another answer than an approval.
  case answer
  /// It was signed for another service.
  case origin
  /// It was signed for another session.
  case session
  /// It was signed for another request: the challenge differs.
  case challenge
  /// The phone showed something else.
  case context
  /// The signed digest of the document is missing, or is another document's.
  case document
  /// Another code was typed than this computer shows.
  case code
  /// The phone did not use the required method.
  case method
  case assertionMissing
  case assertion(CredentialRefusal)
  /// Signatures cannot be checked.
  case unverifiable(VerifierError)

  /// A few words, for the user and the log.
  public var explanation: String {
    switch self {
    case .missing: "the server sent no signature of your phone"
    case .malformed: "the phone's signature is not understood"
    case .otherPhone: "this computer does not trust that phone"
    case .signature: "the phone's signature is wrong"
    case .answer: "the phone signed no approval"
    case .origin: "the phone signed for another server"
    case .session: "the phone signed for another session"
    case .challenge: "the phone signed another request"
    case .context: "the phone showed another request"
    case .document: "the phone signed another document, or did not show it"
    case .code: "another code was typed on the phone"
    case .method: "the phone used another method than was asked for"
    case .assertionMissing: "the phone was not unlocked for this"
    case .assertion(let refusal): "the phone's screen lock proves nothing (\(refusal.rawValue))"
    case .unverifiable(let error): "signatures cannot be checked: \(error.explanation)"
    }
  }
}
