import IAMPASSProtocol

/// Client-initiated backchannel authentication (CIBA Core 1.0) in poll mode: any program that speaks OpenID Connect asks
/// a user's phone.
struct BackchannelReplies: Sendable {
  let core: ServiceCore
  let sessions: SessionReplies
  private let pace = PollPace()

  init(core: ServiceCore, sessions: SessionReplies) {
    self.core = core
    self.sessions = sessions
  }

  func reply(to route: OpenIDRoute, _ call: Call) async throws -> ServiceReply {
    do {
      switch route {
      case .configuration: return OpenIDConfiguration.reply(at: call.address.url)
      case .authorize: return try await authorize(call)
      case .token: return try await token(call)
      }
    } catch let refusal as OpenIDClientCheck.RefusedEarly {
      return refusal.reply
    } catch let refusal as OpenIDError {
      return refusal.reply(at: route)
    }
  }

  private func client(of call: Call, _ form: OpenIDForm) async throws -> SignInClient {
    let client = try await OpenIDClientCheck(core: core).client(of: call, form)
    guard try await !core.storage.settings(of: client.application.id).isDisabled else {
      throw OpenIDError(.unauthorizedClient, "the application is disabled", .applicationDisabled)
    }
    return client
  }

  // MARK: Asking

  private func authorize(_ call: Call) async throws -> ServiceReply {
    let form = try OpenIDForm(call.request)
    let client = try await client(of: call, form)
    return try await AuditActor.$current.withValue(.signInClient(client)) { try await authorize(client, form, call) }
  }

  private func authorize(_ client: SignInClient, _ form: OpenIDForm, _ call: Call) async throws -> ServiceReply {
    let ask = try BackchannelRequest(form).start(by: client, from: call.client)
    let now = core.clock()
    if let credential = client.credential, credential.isUseNews(at: now) {
      try await core.storage.noteUse(of: credential.id, at: now)
    }
    let start = try await core.storage.start(ask, at: now) { record in
      // Nobody could ask for its token, and it would keep the user's next request waiting.
      if call.request.hasLeft() { throw CancellationError() }
      return StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
    }
    core.announceEnd(of: start.ended)
    switch start.outcome {
    case .not(let obstacle): throw refusal(obstacle)
    case .started(let session, _), .begun(let session, _):
      sessions.announce(session, call)
      return Self.asked(session)
    }
  }

  private static func asked(_ session: Session) -> ServiceReply {
    let code = session.matchCode.map { [JSON.Member("match_code", .string($0.exposedValue))] } ?? []
    let members = [
      JSON.Member("auth_req_id", .string(name(of: session))),
      JSON.Member("expires_in", .integer(session.lifecycle.answerTime + SessionLifecycle.collectionTime)),
      JSON.Member("interval", .integer(PollPace.interval)),
    ]
    return ServiceReply(200, JSON.object(members + code).encoded())
  }

  private func refusal(_ obstacle: StartPolicy.Obstacle) -> OpenIDError {
    switch obstacle {
    case .credentialRevoked: return OpenIDError(.invalidClient, "the client was revoked", .credentialRevoked)
    case .unknownUser: return OpenIDError(.unknownUser, "the application has no such user", .unknownUser)
    case .reason(.applicationDisabled):
      return OpenIDError(.unauthorizedClient, "the application is disabled", .applicationDisabled)
    case .reason(.contextRequired):
      return OpenIDError(
        .invalidRequest, "the application requires match codes; send match_code=1 and show the reply's digits",
        .contextRequired)
    case .reason(let reason): return OpenIDError(.accessDenied, reason.rawValue, reason)
    case .missingMethods(_, let user):
      core.board.changed(.user(user))
      return OpenIDError(.accessDenied, Reason.methodNotAvailable.rawValue, .methodNotAvailable)
    case .openRequest(_, let user):
      // The user's phone shows their number.
      core.board.changed(.user(user))
      return OpenIDError(.accessDenied, Reason.requestPending.rawValue, .requestPending)
    }
  }

  // MARK: The token

  private func token(_ call: Call) async throws -> ServiceReply {
    let form = try OpenIDForm(call.request)
    let client = try await client(of: call, form)
    return try await AuditActor.$current.withValue(.signInClient(client)) { try await token(client, form, call) }
  }

  private func token(_ client: SignInClient, _ form: OpenIDForm, _ call: Call) async throws -> ServiceReply {
    guard let grant = form.value("grant_type") else {
      throw OpenIDError(.invalidRequest, "send grant_type=\(OpenIDConfiguration.grant)")
    }
    guard grant == OpenIDConfiguration.grant else {
      throw OpenIDError(.unsupportedGrantType, "the only grant type is \(OpenIDConfiguration.grant)")
    }
    guard let name = form.value("auth_req_id") else {
      throw OpenIDError(.invalidRequest, "send the auth_req_id of the reply to /bc-authorize")
    }
    let now = core.clock()
    guard let view = try await session(named: name, of: client, at: now) else {
      throw OpenIDError(.invalidGrant, "this client has no such auth_req_id")
    }
    let lifecycle = view.session.lifecycle
    guard lifecycle.status.isLive else {
      pace.forget(view.session.id)
      throw Self.refusal(lifecycle.ending)
    }
    if lifecycle.status == .active { return try await token(of: view, for: client, call, at: now) }
    // A phone that has left may come back until the time to collect the approval is over.
    guard await !pace.isTooFast(view.session.id, with: core.storage.limits, at: now) else {
      throw OpenIDError(.slowDown, "wait \(PollPace.interval) seconds longer between two questions")
    }
    throw OpenIDError(.pending, "the user has not answered yet")
  }

  /// The session of an `auth_req_id`. It must be this client's own.
  private func session(named name: String, of client: SignInClient, at now: UnixTime) async throws -> SessionView? {
    guard let id = name.split(separator: ".").first.map(String.init),
      let view = try await sessions.settled(id, at: now),
      let credential = client.credential?.id, view.session.credential == credential,
      Secret(Self.name(of: view.session)) == Secret(name)
    else { return nil }
    return view
  }

  /// Gives the token to the one question that ends the session: of two at the same time, only one gets it.
  private func token(
    of view: SessionView, for client: SignInClient, _ call: Call, at now: UnixTime
  ) async throws -> ServiceReply {
    guard let user = view.userID,
      let claims = ApprovalToken(
        view.session, user: user, issuer: call.address.url.issuer, clock: core.storage.clock,
        audience: client.credential?.id),
      let key = try await core.signingKeys.signer(at: now)
    else { throw OpenIDError(.expired, "the approval is over") }
    let body: JSON = .object([
      "id_token": .string(try await key.sign(claims)),
      // CIBA requires one. It gives no access.
      "access_token": .string(try RandomValue.identifier()), "token_type": .string("Bearer"),
      "expires_in": .integer(BackchannelRequest.duration),
    ])
    guard let closed = try await core.storage.redeem(view.session.id, at: now) else {
      throw OpenIDError(.invalidGrant, "the approval was collected before, or is over")
    }
    pace.forget(closed.id)
    core.announceEnd(of: [closed])
    return ServiceReply(200, body.encoded()).adding("Pragma", "no-cache")
  }

  private static func refusal(_ ending: SessionLifecycle.Ending?) -> OpenIDError {
    switch ending {
    case .notAnswered, .notCollected, .expired: OpenIDError(.expired, "the time of the request is over")
    case .loggedOut: OpenIDError(.invalidGrant, "the approval was collected before")
    default: OpenIDError(.accessDenied, ending?.rawValue ?? "the request has ended")
    }
  }

  /// The `auth_req_id`: the session's id, and a proof that its client started it. The proof does not reveal the
  /// session's token.
  private static func name(of session: Session) -> String {
    session.id + "." + Base64URL.encode(Digest.sha256(Array("ciba ".utf8) + session.token.exposedBytes))
  }
}

extension SessionStore {
  /// Collects an approval, and ends its session, because the asking program has its own sessions.
  ///
  /// - Returns: the session; nil unless it is active, and this ended it.
  fileprivate func redeem(_ id: String, at now: UnixTime) async throws -> Session? {
    let change = try await changeSession(id) { session in
      session.lifecycle.settle(at: now)
      guard session.lifecycle.status == .active else { return false }
      session.lifecycle.collect(at: now)
      session.markDelivered(at: now)
      session.lifecycle.close(.loggedOut, at: now)
      return true
    }
    return change.flatMap { $0.isChanged ? $0.view.session : nil }
  }
}

extension KnownCredential {
  /// Whether ``RequestStore/noteUse(of:at:)`` would store a change.
  fileprivate func isUseNews(at now: UnixTime) -> Bool {
    lastUsedAt.map { now.milliseconds(since: $0) >= HostCredential.useInterval * 1_000 } ?? true
  }
}
