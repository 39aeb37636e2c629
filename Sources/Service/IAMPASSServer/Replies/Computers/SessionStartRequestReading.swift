import IAMPASSProtocol

extension SessionStartRequest {
  /// Reads the query and body of `authenticate_user`.
  ///
  /// - Parameter signedAt: the request's time stamp, in seconds.
  static func parse(_ call: Call, user: String, by signInClient: SignInClient, signedAt: Int64) -> Result<
    SessionStartRequest, Refusal
  > {
    let methods: [AuthenticationMethod]
    switch askedMethods(in: call.target) {
    case .failure(let refusal): return .failure(refusal)
    case .success(let asked): methods = asked
    }
    guard let duration = askedDuration(in: call.target) else {
      return .failure(Refusal(.badDuration))
    }
    let idTokenNonce: String?
    switch askedIDToken(in: call.target) {
    case .failure(let refusal): return .failure(refusal)
    case .success(let nonce): idTokenNonce = nonce
    }
    guard let start = try? StartRequest(parsing: call.request.body) else {
      return .failure(Refusal(.badRequest))
    }
    guard start.challenge == nil || signInClient.isHost(of: start.context) else {
      return .failure(Refusal(.wrongHost))
    }
    let context = signInClient.context(start.context ?? SignInContext())
    guard context.isWithinBounds else { return .failure(Refusal(.badRequest)) }
    guard !context.isWithoutCode || context.isOfUserAtComputer else {
      return .failure(Refusal(.badRequest))
    }
    // Only the service itself asks for documents.
    guard !SignedDocument.isAsked(by: context) else { return .failure(Refusal(.reservedService)) }
    return .success(
      SessionStartRequest(
        user: user, signInClient: signInClient, client: call.client, methods: methods, duration: duration,
        context: context,
        hasContext: start.context != nil, challenge: start.challenge, matchCode: start.matchCode,
        boot: call.signedBoot(of: start, signedAt: signedAt), idTokenNonce: idTokenNonce,
        name: call.target.has(BodyDigest.name) ? start.start : nil))
  }

  /// In bytes, of a token's nonce.
  private static let nonceLengths = 1...128

  /// `id_token=1`, and perhaps `nonce`: printable ASCII.
  private static func askedIDToken(in target: RequestTarget) -> Result<String?, Refusal> {
    let isAsked = target.has("id_token")
    guard isAsked || target.has("nonce") else { return .success(nil) }
    guard isAsked, target.value("id_token") == "1" else { return .failure(Refusal(.badRequest)) }
    guard target.has("nonce") else { return .success("") }
    guard let nonce = target.value("nonce"), nonceLengths.contains(nonce.utf8.count),
      nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return .failure(Refusal(.badRequest)) }
    return .success(nonce)
  }

  /// The requested methods; all if none is named.
  private static func askedMethods(in target: RequestTarget) -> Result<[AuthenticationMethod], Refusal> {
    guard target.has("methods") else { return .success(AuthenticationMethod.allCases) }
    guard let text = target.value("methods") else { return .failure(Refusal(.badRequest)) }
    let words = text.split(separator: ",").map(String.init)
    let methods = words.compactMap(AuthenticationMethod.init(rawValue:))
    guard methods.count == words.count else { return .failure(Refusal(.unknownMethod)) }
    return .success(methods.isEmpty ? AuthenticationMethod.allCases : methods)
  }

  /// The duration in seconds; nil unless it is a number within bounds.
  private static func askedDuration(in target: RequestTarget) -> Int64? {
    guard target.has("duration_seconds") else { return SessionLifecycle.usualDuration }
    guard let seconds = target.value("duration_seconds").flatMap({ Int64($0) }),
      SessionLifecycle.durations.contains(seconds)
    else { return nil }
    return seconds
  }
}

extension SignInClient {
  /// Whether ``context(_:)`` leaves the context as it is: a computer that verifies approvals compares all of it.
  fileprivate func isHost(of context: SignInContext?) -> Bool {
    guard let credential else { return true }
    return context?.host.map { Array($0.utf8) } == Array(credential.host.utf8)
  }

  /// What the phone is told. The host of a host credential is the service's own word: otherwise the holder of one host's
  /// credential could ask in the name of another host.
  func context(_ claimed: SignInContext) -> SignInContext {
    guard let credential else { return claimed }
    var context = claimed
    context.host = credential.host
    return context
  }
}

extension Call {
  /// The boot that a start names, if it is signed: the signature covers the address, and the body only by its digest in
  /// the address. Otherwise anyone on the way could end all sessions of a computer by changing the boot.
  fileprivate func signedBoot(of start: StartRequest, signedAt: Int64) -> SignedBoot? {
    guard target.has(BodyDigest.name), let id = start.bootID else { return nil }
    return SignedBoot(id: id, signedAt: signedAt)
  }
}
