import IAMPASSProtocol

/// Why no approval of a user could be verified. Their phone is then not rung.
public enum TrustGap: Error, Sendable, Equatable {
  /// This computer trusts no phone of the user.
  case noPhone
  /// No trusted phone can prove any method that is asked for.
  case noMethod([AuthenticationMethod])
}

/// What an approval must prove to this computer: which phones it may come from, and by which method from each.
public struct ApprovalDemand: Sendable {
  /// What a computer can verify, the strongest first. `facial` is an app's own word, which no signature proves.
  private static let verifiable: [AuthenticationMethod] = [.device, .acceptance]

  /// Each phone that can prove a method, with the strongest one.
  private let phones: [(phone: PinnedPhone, method: AuthenticationMethod)]
  let verifier: any SignatureVerifier

  /// - Parameters:
  ///   - phones: the user's, which this computer trusts.
  ///   - asked: the methods that are enough for this sign-in; none leaves the choice to the phones.
  public init(
    phones: [PinnedPhone], asked: [AuthenticationMethod], verifier: any SignatureVerifier
  ) throws(TrustGap) {
    guard !phones.isEmpty else { throw .noPhone }
    self.phones = phones.compactMap { phone in
      Self.verifiable.first { (asked.isEmpty || asked.contains($0)) && phone.proves($0) }.map { (phone, $0) }
    }
    guard !self.phones.isEmpty else { throw .noMethod(asked) }
    self.verifier = verifier
  }

  /// What the service is told to ask for, the strongest first.
  public var methods: [AuthenticationMethod] {
    Self.verifiable.filter { method in phones.contains { $0.method == method } }
  }

  /// Whether these phones would be enough for this approval too: by the same id, keys and method.
  public func takes(_ approval: VerifiedApproval) -> Bool {
    guard let (phone, method) = phone(approval.phone.id) else { return false }
    return phone.key == approval.phone.key && phone.credential == approval.phone.credential
      && method == approval.method
  }

  /// The trusted phone of this id, with the method that it must have used.
  func phone(_ id: String) -> (phone: PinnedPhone, method: AuthenticationMethod)? {
    phones.first { $0.phone.id.utf8.elementsEqual(id.utf8) }
  }
}

extension PinnedPhone {
  /// Whether what is known of the phone is enough to verify this method.
  fileprivate func proves(_ method: AuthenticationMethod) -> Bool {
    switch method {
    case .acceptance: true
    case .device: credential != nil
    case .facial: false
    }
  }
}

/// What the phone is asked, and whose word counts for its answer.
public enum ApprovalQuestion: Sendable {
  /// The service is believed. Without methods it chooses; without a context the phone shows none.
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
