import IAMPASSProtocol

/// A computer asks for a change of the list of users; an administrator's phone takes the place of the application's secret.
///
/// Nothing is stored beside the requests on the phones. Each has the change's digest for its challenge: an approval is
/// good for this change by this computer, once.
struct UserChangeReplies: Sendable {
  /// Milliseconds between two looks: another server may have had the answer.
  private static let refreshInterval: Int64 = 500
  /// Seconds that an approval waits for the computer.
  private static let duration: Int64 = 60

  let core: ServiceCore
  let sessions: SessionReplies

  func reply(to signInClient: SignInClient, _ client: VerifiedClient, _ call: Call) async throws -> ServiceReply {
    guard let computer = signInClient.credential else { return .refused(.hostCredentialRequired) }
    // The signature covers the body only by its digest.
    guard call.target.has(BodyDigest.name), let request = try? UserChangeRequest(parsing: call.request.body),
      let change = UserChange(request, of: computer, in: signInClient.application)
    else { return .refused(.badRequest) }
    // Its users are the administrators.
    guard try await core.storage.administratorsApplication() != signInClient.application.id else {
      return .refused(.ownApplication)
    }
    if let refusal = try await refusal(of: change) { return refusal }
    if request.isWithdrawn { return try await withdraw(change) }
    return try await request.asks.isEmpty ? ask(about: change, call) : wait(for: change, client, call)
  }

  /// Why this computer may not ask; nil if it may. Asked again when a phone has approved: that takes a while.
  private func refusal(of change: UserChange) async throws -> ServiceReply? {
    let application = change.application.id
    let settings = try await core.storage.settings(of: application)
    guard !settings.isDisabled else { return .notDone(.applicationDisabled) }
    guard let computer = try await core.storage.hostCredential(change.computer.id, of: application), !computer.isRevoked
    else { return .refused(.hostCredentialRequired) }
    guard settings.holdsClones, try await core.storage.isForked(computer.id) else { return nil }
    return .refused(.computerHeld)
  }

  // MARK: asking

  private func ask(about change: UserChange, _ call: Call) async throws -> ServiceReply {
    if let reason = try await obstacle(to: change) { return .notDone(reason) }
    let administrators = try await core.storage.administrators()
      .filter { $0.role >= change.leastRole && $0.phone != nil }
    guard let own = try await core.storage.administratorsApplication(),
      let application = try await core.storage.application(own), change.context.isWithinBounds
    else { return .refused(.noAdministrator) }
    var asked: [Session] = []
    var reason = Reason.noAdministrator
    for one in administrators.prefix(UserChangeRequest.greatestAskCount) {
      let ask = SessionStartRequest(
        user: one.name, signInClient: SignInClient(application: application, credential: nil), client: call.client,
        methods: AuthenticationMethod.allCases, duration: Self.duration, context: change.context, hasContext: true,
        challenge: change.challenge, matchCode: change.request.code, boot: nil)
      let now = core.clock()
      let start = try await core.storage.start(ask, at: now) { record in
        StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
      }
      core.announceEnd(of: start.ended)
      switch start.outcome {
      case .started(let session, _), .begun(let session, _):
        sessions.announce(session, call)
        asked.append(session)
      case .not(let obstacle): reason = Self.reason(of: obstacle) ?? reason
      }
    }
    guard let first = asked.first else { return .notDone(reason) }
    let reply = UserChangeReply.waiting(asks: asked.map(\.id), code: first.matchCode?.exposedValue)
    return ServiceReply(202, reply.encoded())
  }

  /// Why nobody is asked.
  private func obstacle(to change: UserChange) async throws -> Reason? {
    let request = change.request
    for name in request.users {
      switch UserListOrder(application: change.application.id, name: name, groups: request.groups).refusal {
      case .nameNotFit: return .userNameNotFit
      case .groupNotFit: return .groupNameNotFit
      case .unknownApplication, .unknownUser, .badToken, nil: break
      }
    }
    guard request.act != .add else { return nil }
    let listed = try await core.storage.listedUsers(request.users, of: change.application.id)
    let settings = try await core.storage.settings(of: change.application.id)
    for name in request.users {
      guard let user = listed.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return .unknownUser }
      if request.act == .enroll, user.hasPhone, settings.phones < 2 { return .hasMobileDevice }
    }
    return nil
  }

  private static func reason(of obstacle: StartPolicy.Obstacle) -> Reason? {
    switch obstacle {
    case .openRequest: .administratorBusy
    case .reason(let reason): reason == .noMobileDevice ? nil : reason
    case .credentialRevoked, .unknownUser, .missingMethods: nil
    }
  }

  // MARK: waiting

  private func wait(for change: UserChange, _ client: VerifiedClient, _ call: Call) async throws -> ServiceReply {
    let wait = call.request.preferredWait(longest: HeldReply.usualWait)
    let end = core.clock().advanced(seconds: wait ?? 0)
    let watch = core.board.watch(.session(change.request.asks[0]))
    if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
    let poll: HeldReply.Poll = { isLast in
      let patience = end.milliseconds(since: core.clock())
      let reply: ServiceReply
      switch try await next(change, isLast: isLast) {
      case .wait:
        if !isLast, patience > 0 { return .nothingYet(milliseconds: min(patience, Self.refreshInterval)) }
        reply = ServiceReply(202, UserChangeReply.waiting(asks: change.request.asks, code: nil).encoded())
      case .refuse(let reason):
        _ = try await endAsks(of: change)
        reply = .notDone(reason)
      case .perform(let session):
        if let refusal = try await refusal(of: change) {
          _ = try await endAsks(of: change)
          reply = refusal
        } else {
          reply = try await perform(change, by: session, client, call)
        }
      }
      return .reply(wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply)
    }
    switch try await poll(false) {
    case .reply(let reply): return reply
    case .nothingYet(let patience): return ServiceReply(holding: HeldReply(watch, patience: patience, poll: poll))
    }
  }

  /// - Parameter isLast: nobody may be there to be told: nothing is done then.
  private func next(_ change: UserChange, isLast: Bool) async throws -> UserChange.Step {
    let step = UserChange.next(
      try await asks(of: change), administrators: Set(try await administrators(for: change).compactMap(\.user)))
    if isLast, case .perform = step { return .wait }
    return step
  }

  private func administrators(for change: UserChange) async throws -> [Administrator] {
    try await core.storage.administrators().filter { $0.role >= change.leastRole }
  }

  /// The requests that the computer names, as far as they are about this change.
  private func asks(of change: UserChange) async throws -> [Session] {
    guard let own = try await core.storage.administratorsApplication() else { return [] }
    var found: [Session] = []
    for id in change.request.asks {
      guard let session = try await sessions.settled(id, at: core.clock())?.session,
        change.isAsked(by: session, own: own)
      else { continue }
      found.append(session)
    }
    return found
  }

  /// - Returns: those that ended just now.
  private func endAsks(of change: UserChange) async throws -> [Session] {
    var ended: [Session] = []
    for ask in try await asks(of: change) where ask.lifecycle.endedAt == nil {
      if let closed = try await core.storage.logOut(ask.id, at: core.clock()) { ended.append(closed) }
    }
    core.announceEnd(of: ended)
    return ended
  }

  private func withdraw(_ change: UserChange) async throws -> ServiceReply {
    let wasApproved = try await asks(of: change).contains {
      $0.lifecycle.approvedAt != nil && $0.lifecycle.ending == .loggedOut
    }
    _ = try await endAsks(of: change)
    return wasApproved ? .refused(.changeUsed) : .done
  }

  // MARK: doing

  private func perform(
    _ change: UserChange, by session: Session, _ client: VerifiedClient, _ call: Call
  ) async throws -> ServiceReply {
    let now = core.clock()
    // Whoever ends the session has the approval, and nobody has it twice.
    guard let used = try await core.storage.logOut(session.id, at: now) else { return .refused(.changeUsed) }
    core.announceEnd(of: [used])
    guard used.lifecycle.approvedAt != nil, used.lifecycle.ending == .loggedOut else {
      return .refused(.changeNotAnswered)
    }
    _ = try await endAsks(of: change)
    guard let administrator = try await administrators(for: change).first(where: { $0.user == session.user }) else {
      return .refused(.changeNotAnswered)
    }
    let act = ConsoleAct(administrator: administrator.name, approval: session.id, seen: nil)
    let done = try await ConsoleAct.$current.withValue(act) { try await perform(change, client, call, at: now) }
    core.logger.notice(
      "an administrator's phone approved a change of the users",
      metadata: [
        "administrator": "\(administrator.name)", "session": "\(session.id)",
        "computer": "\(DisplayText.sanitized(change.computer.host))", "change": "\(change.request.text)",
      ])
    switch done {
    case .failure(let refusal): return .notDone(refusal.reason)
    case .success(let link):
      if change.request.act != .enroll { await askForSignature(of: administrator.name, for: change, call) }
      return ServiceReply(200, UserChangeReply.done(administrator: administrator.name, link: link).encoded())
    }
  }

  /// The phone that approved the change is asked at once to sign the list as it is now. The change is done, whatever
  /// becomes of that.
  private func askForSignature(of name: String, for change: UserChange, _ call: Call) async {
    do {
      guard try await core.storage.hasAdministratorSet() else { return }
      let documents = DocumentRequests(core: core, sessions: sessions, contact: call.address.url.origin)
      _ = try await documents.ask(for: DocumentOrder(.users(application: change.application.id), by: name))
    } catch { core.tell(storageFailure: error) }
  }

  /// - Returns: the sealed link, if the change makes one.
  private func perform(
    _ change: UserChange, _ client: VerifiedClient, _ call: Call, at now: UnixTime
  ) async throws -> Result<String?, Refusal> {
    let (request, application) = (change.request, change.application.id)
    var link: String?
    do {
      for name in request.users {
        switch request.act {
        case .add:
          _ = try await core.storage.listUser(
            UserListOrder(application: application, name: name, groups: request.groups))
        case .remove: try await core.storage.removeListedUser(name, of: application, at: now)
        case .enroll:
          guard let code = try await core.storage.invitation(ofListed: name, of: application, isFurther: true, at: now)
          else { return .failure(Refusal(.hasMobileDevice)) }
          let seal = LinkSeal(secret: client.replySecret, nonce: client.nonce)
          link = seal.sealed(
            call.address.url.route(["register", code.exposedValue]), salt: try RandomValue.bytes(LinkSeal.saltLength))
        }
      }
    } catch is UserListRefusal {
      // It was removed since the phones were asked.
      return .failure(Refusal(.unknownUser))
    }
    core.board.changed(.userList(application))
    return .success(link)
  }
}
