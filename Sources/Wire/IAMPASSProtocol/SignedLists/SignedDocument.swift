/// A document that administrators' phones sign, apart from sign-ins.
public enum SignedDocument: Sendable, Equatable {
  case administrators(AdministratorSet)
  case users(UserListHead)

  /// The kind, as the request to a phone names it.
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

  /// The request's challenge. It is the digest, so that the phone signs only this document.
  public var challenge: ApprovalChallenge {
    guard let challenge = ApprovalChallenge(digest) else { preconditionFailure("a digest has the size of a challenge") }
    return challenge
  }

  /// The request's context, which the phone shows. It is made only from the document, so that it fits no other.
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
