/// What administrators' phones sign outside of a sign-in.
public enum SignedDocument: Sendable, Equatable {
  case administrators(AdministratorSet)
  case users(UserListHead)

  /// As the request to a phone names it.
  public enum Kind: String, Sendable, CaseIterable {
    case administrators
    case users
  }

  /// The service name of a request for a document. No sign-in may have it: a service refuses it from clients, and a phone
  /// that is not shown a document refuses it.
  public static let serviceName = "iampass-document"

  public var kind: Kind {
    switch self {
    case .administrators: .administrators
    case .users: .users
    }
  }

  /// 32 bytes.
  public var digest: [UInt8] {
    switch self {
    case .administrators(let set): set.digest
    case .users(let head): head.digest
    }
  }

  /// The request's challenge is the digest: the phone signs this document and nothing else.
  public var challenge: ApprovalChallenge {
    guard let challenge = ApprovalChallenge(digest) else { preconditionFailure("a digest has the size of a challenge") }
    return challenge
  }

  /// What the request says that the phone shows; made of the document alone, so that it stands for no other.
  public var context: SignInContext {
    switch self {
    case .administrators(let set):
      SignInContext(
        host: "administrators", service: Self.serviceName,
        command: "administrators of this service, number \(set.number)")
    case .users(let head):
      SignInContext(
        host: "users", service: Self.serviceName,
        command: "users of \(head.application), version \(head.epoch).\(head.number)")
    }
  }

  /// Whether a request with this context asks for a document.
  public static func isAsked(by context: SignInContext) -> Bool { context.service == serviceName }
}
