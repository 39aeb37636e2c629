import IAMPASSProtocol

/// Why a phone does not sign what the service shows. Deny such a request.
public enum DocumentMisfit: Error, Equatable, Sendable {
  /// The request has a document's service name without a document, a document without that name, or a form that no
  /// document has.
  case notADocument
  /// A page is malformed.
  case malformed
  /// The pages do not end, or are larger than a list may be.
  case tooLarge
  /// The request's challenge or context belongs to another document.
  case otherDocument
  /// The users that are shown do not match the digest of the list to sign.
  case otherUsers
  /// The users that are shown as the last list do not match its digest.
  case otherFormerUsers
  /// No administrator signed the list that is shown as the last one.
  case formerNotSigned
  /// The list is not newer than one that an administrator signed.
  case older(version: String, seen: String)
  /// The list that is shown as the last one is older than one that was in force, or is another list of the same
  /// version.
  ///
  /// - Parameter shown: its version; nil if no list is shown.
  case formerIsOlder(shown: String?, seen: String)
  /// The list's predecessor is not the list that is shown as the last one.
  case notNext
  /// The list names other administrators than those in force.
  case otherSet
  /// The administrators do not follow from those that this phone knows.
  case otherAdministrators
  /// The phone's key is not in the set in force.
  case notAnAdministrator

  /// A line for the phone's user, in lower case without a full stop.
  public var explanation: String {
    switch self {
    case .notADocument: "this request asks for an administrator's signature and does not say what for"
    case .malformed: "what the service shows is malformed"
    case .tooLarge: "what the service shows does not end, or is too large"
    case .otherDocument: "the request is not about what the service shows"
    case .otherUsers: "the users that the service shows are not the list that is to be signed"
    case .otherFormerUsers: "the users that the service shows are not those of the last list"
    case .formerNotSigned: "no administrator signed what the service shows as the last list"
    case .older(let version, let seen): "version \(version) is older than version \(seen), which was signed before"
    case .formerIsOlder(let shown, let seen):
      "the service shows \(shown.map { "version \($0)" } ?? "no list") as the last one; this phone knows version \(seen)"
    case .notNext: "the list does not follow from the one that the service shows as the last"
    case .otherSet: "the list names other administrators than those of now"
    case .otherAdministrators: "the administrators do not follow from those that this phone knows"
    case .notAnAdministrator: "this phone is not an administrator's: its signature would not count"
    }
  }
}
