import IAMPASSProtocol

/// Finds the route of a request, checks the signature, and calls the group of replies for the route.
final class Router: Sendable {
  let core: ServiceCore
  /// The service's address for clients; nil: each request's own authority counts.
  let publicURL: ServerURL?
  let proxies: TrustedProxies
  let management: ManagementReplies
  let sessions: SessionReplies
  let devices: DeviceReplies
  let certificateEnd: @Sendable () -> UnixTime?
  let joinCodes: JoinCodeMaker
  private let backchannel: BackchannelReplies
  private let addresses: KnownAddresses

  init(
    core: ServiceCore, publicURL: ServerURL?, proxies: TrustedProxies, management: ManagementReplies,
    sessions: SessionReplies, devices: DeviceReplies, certificateEnd: @escaping @Sendable () -> UnixTime?,
    joinCodes: JoinCodeMaker
  ) {
    self.certificateEnd = certificateEnd
    self.joinCodes = joinCodes
    self.core = core
    self.publicURL = publicURL
    addresses = KnownAddresses(configured: publicURL)
    self.proxies = proxies
    self.management = management
    self.sessions = sessions
    self.devices = devices
    backchannel = BackchannelReplies(core: core, sessions: sessions)
  }

  func respond(to request: ServiceRequest) async -> ServiceReply {
    let start = ContinuousClock.now
    let address = address(of: request)
    let target = address.flatMap { RequestTarget($0.routed(request.target)) }
    let route = target.flatMap { Route(path: $0.path) }
    let reply = await reply(to: request, address, target, route)
    // A question that was dropped because its client has gone did not fail.
    if !(reply.status == 503 && request.hasLeft()) {
      core.metrics.requestTimes.note(reply, to: route, after: start.duration(to: .now))
    }
    return reply
  }

  /// The service as the request's client knows it; nil for an authority that cannot be read.
  private func address(of request: ServiceRequest) -> PublicAddress? {
    guard case .console(let url) = request.listener else { return addresses.address(authority: request.authority) }
    return PublicAddress(configured: url, authority: request.authority)
  }

  private func reply(
    to request: ServiceRequest, _ address: PublicAddress?, _ target: RequestTarget?, _ route: Route?
  ) async -> ServiceReply {
    guard let address, let target else { return .refused(.badRequest) }
    guard let route, request.listener.takes(route) else { return .refused(.notFound) }
    guard request.method == route.method || route.isConsole else {
      return .refused(.methodNotAllowed).adding("Allow", route.method)
    }
    let call = Call(request: request, address: address, target: target, client: proxies.client(of: request))
    if let refusal = call.refusal(of: route) { return refusal }
    // The request must be authenticated first, so it has no actor yet.
    return await AuditActor.$current.withValue(nil) {
      await limitingFailures(of: route, call) {
        await replyingWhenStorageFails { try await reply(to: route, call) }
      }
    }
  }

  /// A client that fails too often must wait. A valid request is still accepted.
  private func limitingFailures(
    of route: Route, _ call: Call, _ work: () async -> ServiceReply
  ) async -> ServiceReply {
    let reply = await work()
    guard let reason = reply.reason, let kind = FailureLimits.Kind(route, call.request) else { return reply }
    let wait: Int64?
    if kind.isFailure(reason) {
      wait = await core.failures.note(kind, from: call.client.text, with: core.storage.limits, at: core.clock())
    } else if kind.isUnknown(reason) {
      wait = await core.unknownIDs.note(kind, from: call.client.text, with: nil, at: core.clock())
    } else {
      wait = nil
    }
    return wait.map(ServiceReply.tooManyFailures) ?? reply
  }

  private func reply(to route: Route, _ call: Call) async throws -> ServiceReply {
    switch route {
    case .announcement: Self.announcement(at: call.address)
    case .health: try await core.health()
    case .signingKeys: try await sessions.signingKeys(call)
    case .openID(let route): try await backchannel.reply(to: route, call)
    case .join:
      try await core.forUnauthenticated(call) {
        try await JoinReplies(core: core, phones: JoinPhones(core: core, sessions: sessions)).reply(call)
      }
    case .console(let path): try await console(call).reply(to: path)
    case .management(let route, let application):
      try await signed(application: application, call) { try await management.reply(to: route, of: $0, call, $1) }
    case .session(let route):
      try await ClientDeparture.$current.withValue(route.isQuestion ? ClientDeparture(call.request.hasLeft) : nil) {
        try await reply(to: route, call)
      }
    case .phone(let route): try await devices.reply(to: route, call)
    case .root: call.request.listener.isForConsole ? .leadingToConsole(call) : .leadingToPage(call)
    case .phoneFile(let name): .phoneFile(name, call)
    }
  }

  private func console(_ call: Call) -> Console {
    Console(
      core: core, management: management, sessions: sessions, publicURL: publicURL, certificateEnd: certificateEnd,
      joinCodes: joinCodes, call: call, now: core.clock())
  }

  private func reply(to route: SessionRoute, _ call: Call) async throws -> ServiceReply {
    switch route {
    case .start(let user, let id):
      try await signed(signInClient: id, call) { try await sessions.start(for: user, by: $0, $1, call) }
    case .startCancel(let name, let id):
      try await signed(signInClient: id, call) { signInClient, _ in
        try await sessions.cancelStart(named: name, by: signInClient)
      }
    // Every signed reply has the mark.
    case .mark(let id): try await signed(signInClient: id, call) { _, _ in .done }
    case .phones(let user, let id):
      try await signed(signInClient: id, call) { signInClient, _ in
        try await sessions.phones(of: user, for: signInClient)
      }
    case .userList(let id):
      try await signed(signInClient: id, call) { signInClient, client in
        try await UserListReplies(core: core).reply(to: signInClient, client, call)
      }
    case .codeUse(let user, let id):
      try await signed(signInClient: id, call) { signInClient, _ in
        try await sessions.noteCodeUse(of: user, by: signInClient, call)
      }
    case .audit(let id):
      try await signed(signInClient: id, call) { signInClient, _ in
        try await HostAuditReplies(core: core).reply(to: signInClient, call)
      }
    case .userChange(let id):
      try await signed(signInClient: id, call) { signInClient, client in
        try await UserChangeReplies(core: core, sessions: sessions).reply(to: signInClient, client, call)
      }
    case .status(let id):
      try await signed(session: id, call) { moment in
        if let reply = try await sessions.statusAtOnce(moment, call) { return reply.marked(moment.mark) }
        return try await sessions.status(of: id, after: moment, call).finished(marked)
      }
    case .logout(let id): try await signed(session: id, call) { _ in try await marked(sessions.logOut(id)) }
    }
  }

  private static func announcement(at address: PublicAddress) -> ServiceReply {
    ServiceReply(
      200,
      ServiceAnnouncement(
        signedReplies: true, context: true, preferWait: true, matchCode: true, hostCredentials: true,
        sessionNames: true, signedTargets: true, bodyDigests: true, sealedLinks: true, repeatedStarts: true,
        address: address.url
      ).encoded())
  }

  /// The signed reply to an application's own request. Its host credentials may not manage users and phones.
  private func signed(
    application id: String, _ call: Call,
    _ work: @Sendable (KnownApplication, VerifiedClient) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    try await signed(signInClient: id, call) { signInClient, client in
      guard signInClient.credential == nil else { return .refused(.hostMayNotManage) }
      let settings = try await core.storage.settings(of: signInClient.application.id)
      guard !settings.isDisabled else { return .refused(.applicationDisabled) }
      return try await work(signInClient.application, client)
    }
  }

  /// A reply for a request of an application or one of its hosts, signed; refused unless the signature is its own.
  private func signed(
    signInClient id: String, _ call: Call, _ work: @Sendable (SignInClient, VerifiedClient) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    guard RandomValue.isIdentifier(id) else { return .refused(.unknownApplication) }
    let check = check(of: call)
    let claim: SignatureCheck.Claim
    switch check.claim(in: call.request) {
    case .failure(let refusal): return refusal.reply
    case .success(let found): claim = found
    }
    // It signs under the id in its path.
    guard claim.clientID == id else { return .refused(.signatureRefused) }
    switch try await SignInClientCheck(core: core, check: check).verify(claim, in: call) {
    case .refused(let reply): return reply
    case .verified(let signInClient, let client):
      return await AuditActor.$current.withValue(.signInClient(signInClient)) {
        await replyingWhenStorageFails { try await work(signInClient, client).finished(marked) }
      }.finished { $0.signed(for: client) }
    }
  }

  /// The reply to a request that was signed with a session's token and secret.
  ///
  /// - Parameter work: makes the marked reply.
  private func signed(
    session id: String, _ call: Call, _ work: @Sendable (SessionMoment) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    guard RandomValue.isIdentifier(id) else { return .refused(.unknownSession) }
    let check = check(of: call)
    let claim: SignatureCheck.Claim
    switch check.claim(in: call.request) {
    case .failure(let refusal): return refusal.reply
    case .success(let found): claim = found
    }
    // The client id is the session's token.
    guard RandomValue.isIdentifier(claim.clientID) else { return .refused(.signatureRefused) }
    let known = core.storage.knownKeys(ofSession: id)
    let refusal = core.earlyRefusal(
      .signature(client: id), call,
      unless: known.map { check.isMade(claim, by: $0, uris: call.signedURIs) } ?? false)
    if let refusal { return refusal }
    let found: SessionKeys? =
      if let known { known } else {
        try await core.forUnauthenticated(call) { try await core.storage.keys(ofSession: id) }
      }
    guard let keys = found else { return .refused(.unknownSession) }
    let (outcome, moment) = try await check.session(keys, signed: call.request, claim, uris: call.signedURIs)
    switch (outcome, moment) {
    case (.refused(let reason), _): return .refused(reason)
    case (.verified, nil): return .refused(.nonceReplayed)
    case (.verified(let client), let moment?):
      // The session was deleted after its keys were read.
      guard moment.view != nil else { return .refused(.unknownSession) }
      return await AuditActor.$current.withValue(.session(keys.id)) {
        await replyingWhenStorageFails { try await work(moment) }
      }.finished { $0.signed(for: client) }
    }
  }

  private func check(of call: Call) -> SignatureCheck { SignatureCheck(storage: core.storage, client: call.client) }

  /// The reply with the service's mark, read after the reply's work, unless it has the mark of its own view.
  @Sendable private func marked(_ reply: ServiceReply) async throws -> ServiceReply {
    if reply.isMarked { return reply }
    return reply.marked(try await core.storage.mark())
  }

  /// If the storage fails, the client gets a reply to try again, and the failure is logged.
  private func replyingWhenStorageFails(_ work: () async throws -> ServiceReply) async -> ServiceReply {
    do {
      let reply = try await work()
      core.tellWhenStorageWorksAgain()
      guard let held = reply.held else { return reply }
      return ServiceReply(holding: held.replying(toFailure: reply(toFailure:)))
    } catch {
      return reply(toFailure: error)
    }
  }

  @Sendable private func reply(toFailure error: any Error) -> ServiceReply {
    // This is not a failure of the storage.
    if error is TooManyUnauthenticatedRequests {
      return .refused(.storageUnavailable).adding("Retry-After", String(TooManyUnauthenticatedRequests.pause))
    }
    core.tell(storageFailure: error)
    return .refused(.storageUnavailable).adding("Retry-After", "2")
  }
}

extension ServiceReply {
  /// The reply with this service's own signatures, for the verified client.
  fileprivate func signed(for client: VerifiedClient) -> ServiceReply {
    adding(
      ReplySignature.header,
      ReplySignature.signature(secret: client.replySecret, nonce: client.nonce, status: status, body: body)
    ).adding(
      ReplySignature.targetHeader,
      ReplySignature.targetSignature(
        secret: client.replySecret, nonce: client.nonce, method: client.method, address: client.address,
        status: status, body: body))
  }
}
