import IAMPASSProtocol

/// What the phone is asked, and whether the service's word or the phone's signature counts for its answer.
public enum ApprovalQuestion: Sendable {
  /// The service's word counts. Without methods, the service chooses one; without a context, the phone shows none.
  case service(methods: [AuthenticationMethod], context: SignInContext?)
  /// The phone's own signature over this very context.
  case phone(ApprovalDemand, context: SignInContext)

  /// Gets ready to check what the phone will sign, if its signature counts.
  ///
  /// - Throws: if this computer cannot check signatures. The phone need not be asked then.
  public func prepareToVerify() throws(VerifierError) {
    switch self {
    case .service: break
    case .phone(let demand, _): try demand.verifier.prepare()
    }
  }

  /// Whether the start contains a match code, which the service reads.
  public var carriesCode: Bool {
    switch self {
    case .service: false
    case .phone(_, let context): !context.isWithoutCode
    }
  }

  /// Identifies the question: who is asked, what the phone shows and must prove, and whose word counts. One approval
  /// answers all questions with the same mark.
  ///
  /// - Parameter token: the user's token at the service.
  public func mark(of token: Secret) -> String {
    let word: String
    switch self {
    case .service: word = "service"
    case .phone: word = "phone"
    }
    let asked = JSON.object([
      "word": .string(word), "user": .string(Digest.hexadecimal(Digest.sha256(token.exposedBytes))),
      "methods": .array(methods.map { .string($0.rawValue) }),
      "context": context.map { .string(ShownContext.hash($0)) },
    ])
    return Digest.hexadecimal(Digest.sha256(asked.canonicallyEncoded()))
  }

  var context: SignInContext? {
    switch self {
    case .service(_, let context): context
    case .phone(_, let context): context
    }
  }

  var methods: [AuthenticationMethod] {
    switch self {
    case .service(let methods, _): methods
    case .phone(let demand, _): demand.methods
    }
  }
}
