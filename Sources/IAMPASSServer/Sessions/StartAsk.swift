import IAMPASSProtocol

/// What a computer asks for when it starts a sign-in session, as read from its request.
struct StartAsk: Sendable {
  let user: String
  let starter: Starter
  let client: ClientAddress
  /// Any of these will do.
  let methods: [AuthenticationMethod]
  /// The greatest length of the session, in seconds.
  let duration: Int64
  /// What the phone shows.
  let context: SignInContext
  /// Whether the computer sent a context. A computer that sends none does not know match codes, and would not show one.
  let hasContext: Bool
  /// The boot of the computer, if it is signed.
  let bootID: String?

  var source: RequestSource { RequestSource(of: context, from: client, credential: starter.credential?.id) }
}

extension StartAsk {
  /// Reads the query and body of `authenticate_user`.
  static func parse(_ call: Call, user: String, by starter: Starter) -> Result<StartAsk, Refusal> {
    let methods: [AuthenticationMethod]
    switch askedMethods(in: call.target) {
    case .failure(let refusal): return .failure(refusal)
    case .success(let asked): methods = asked
    }
    guard let duration = askedDuration(in: call.target) else {
      return .failure(Refusal(status: 400, reason: .badDuration))
    }
    guard let start = try? StartRequest(parsing: call.request.body) else {
      return .failure(Refusal(status: 400, reason: .badRequest))
    }
    let context = starter.context(start.context ?? SignInContext())
    guard context.isWithinBounds else { return .failure(Refusal(status: 400, reason: .badRequest)) }
    return .success(
      StartAsk(
        user: user, starter: starter, client: call.client, methods: methods, duration: duration, context: context,
        hasContext: start.context != nil, bootID: call.signedBootID(of: start)))
  }

  /// All methods unless some are named.
  private static func askedMethods(in target: RequestTarget) -> Result<[AuthenticationMethod], Refusal> {
    guard target.has("methods") else { return .success(AuthenticationMethod.allCases) }
    guard let text = target.value("methods") else { return .failure(Refusal(status: 400, reason: .badRequest)) }
    let words = text.split(separator: ",").map(String.init)
    let methods = words.compactMap(AuthenticationMethod.init(rawValue:))
    guard methods.count == words.count else { return .failure(Refusal(status: 400, reason: .unknownMethod)) }
    return .success(methods.isEmpty ? AuthenticationMethod.allCases : methods)
  }

  /// Seconds; nil unless it is a number within bounds.
  private static func askedDuration(in target: RequestTarget) -> Int64? {
    guard target.has("duration_seconds") else { return SessionLifecycle.usualDuration }
    guard let seconds = target.value("duration_seconds").flatMap({ Int64($0) }),
      SessionLifecycle.durations.contains(seconds)
    else { return nil }
    return seconds
  }
}

extension Starter {
  /// What the phone is told. The host of a host credential is the service's own word: otherwise the holder of one host's
  /// credential could ask in the name of another host.
  fileprivate func context(_ claimed: SignInContext) -> SignInContext {
    guard let credential else { return claimed }
    var context = claimed
    context.host = credential.host
    return context
  }
}

extension Call {
  /// The boot that a start names, if it is signed: the signature covers the address, and the body only by its digest in
  /// the address. Otherwise anyone on the way could end all sessions of a computer by changing the boot.
  fileprivate func signedBootID(of start: StartRequest) -> String? {
    target.has(BodyDigest.name) ? start.bootID : nil
  }
}
