import IAMPASSProtocol

/// A client's operations on service sessions: start, status and end.
struct SessionReplies: Sendable {
  let core: ServiceCore
  /// The longest time that a status is held, in seconds; 0: never.
  let longestWait: Int64
  let pushes: PushSender

  func start(
    for user: String, by signInClient: SignInClient, _ client: VerifiedClient, _ call: Call
  ) async throws -> ServiceReply {
    switch SessionStartRequest.parse(call, user: user, by: signInClient, signedAt: client.signedAt) {
    case .failure(let refusal): return refusal.reply
    case .success(let ask):
      let now = core.clock()
      let start = try await core.storage.start(ask, at: now) { record in
        // It may have waited. A session that its computer never hears of would ring the phone for nothing, and keep the
        // user's next request waiting.
        if call.request.hasLeft() { throw CancellationError() }
        return StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
      }
      if let boot = start.boot { announce(boot, of: signInClient) }
      core.announceEnd(of: start.ended)
      switch start.outcome {
      case .not(let obstacle): return reply(to: obstacle)
      case .started(let session, let isRung):
        announce(session, call)
        return try reply(to: session, isRung: isRung, call)
      case .begun(let session, let isRung):
        tellAgain(session, call)
        return try reply(to: session, isRung: isRung, call)
      }
    }
  }

  /// Ends the request of a start that its computer has given up. Nobody else could: only the reply, which the computer did
  /// not get, has the session's token. A start that was not taken is done with too.
  ///
  /// - Parameter text: the computer's name for the start. Another computer's start has another session by this name.
  func cancelStart(named text: String, by signInClient: SignInClient) async throws -> ServiceReply {
    guard let name = StartName(text) else { return .refused(.badRequest) }
    return try await logOut(name.session(of: signInClient.credential?.id ?? signInClient.application.id))
  }

  /// Tells the phone of a start that was taken before. Whoever took it may have stopped before it rang the phone: it rings
  /// once more, however often the computer starts again.
  private func tellAgain(_ session: Session, _ call: Call) {
    guard session.lifecycle.isUnanswered, core.repeatedStarts.isFirst(session.id, at: core.clock()) else { return }
    core.announceChange(of: session)
    pushes.ring(for: session, contact: call.address.url.origin)
  }

  private func reply(to session: Session, isRung: Bool, _ call: Call) throws -> ServiceReply {
    ServiceReply(202, StartReply.started(try session.started(at: call.address.url, isRung: isRung)).encoded())
  }

  private func announce(_ boot: HostBoot.Finding, of signInClient: SignInClient) {
    switch boot {
    case .isCurrent: return
    case .isNew(let ended): core.announceEnd(of: ended)
    case .isOlder:
      guard let credential = signInClient.credential else { return }
      core.logger.warning(
        "a host credential is used by two computers at once",
        metadata: [
          "credential": "\(credential.name)", "host": "\(credential.host)",
          "hint": "give each computer a credential of its own: sessions of one end when another starts",
        ])
    }
  }

  func announce(_ session: Session, _ call: Call) { announce(session, contact: call.address.url.origin) }

  /// The reply to a start that made no session.
  private func reply(to obstacle: StartPolicy.Obstacle) -> ServiceReply {
    switch obstacle {
    case .credentialRevoked: return .refused(.credentialRevoked)
    case .unknownUser: return .refused(.unknownUser)
    case .reason(let reason): return .notStarted(reason)
    case .missingMethods(_, let user):
      core.board.changed(.user(user))
      return .notStarted(.methodNotAvailable)
    case .openRequest(_, let user):
      // The user's phone shows their number.
      core.board.changed(.user(user))
      return .notStarted(.requestPending)
    }
  }

  /// The digests of the user's phones, by which a computer sees whether a phone was replaced.
  func phones(of name: String, for signInClient: SignInClient) async throws -> ServiceReply {
    let application = signInClient.application.id
    guard !(try await core.storage.settings(of: application)).isDisabled else {
      return .refused(.applicationDisabled)
    }
    guard let user = try await core.storage.user(name, of: application) else { return .refused(.unknownUser) }
    let phones = user.phones.map { phone, credential in
      let keys = PhoneKeys(
        publicKey: phone.publicKey, credential: credential.map { .init(id: $0.id, publicKey: $0.publicKey) })
      return PhoneDigestsReply.Phone(id: phone.id, keysDigest: keys.digest)
    }
    return ServiceReply(200, PhoneDigestsReply(phones: phones).encoded())
  }

  /// Notes the use of a user's code in the audit, and shows it on the user's phone.
  func noteCodeUse(of name: String, by signInClient: SignInClient, _ call: Call) async throws -> ServiceReply {
    // The signature covers the body only by its digest. A man in the middle could change an unsigned report.
    guard call.target.has(BodyDigest.name), let use = try? CodeUse(call, by: signInClient) else {
      return .refused(.badRequest)
    }
    switch try await core.storage.record(use, of: name, by: signInClient, at: core.clock()) {
    case .unknownUser: return .refused(.unknownUser)
    case .credentialRevoked: return .refused(.credentialRevoked)
    case .noted(let kept, let user):
      if kept.isNew { core.audit.codeUsed(use, user: user) }
      if kept.isNews { core.board.changed(.user(user)) }
      return ServiceReply(200, CodeUseReply(isDisowned: kept.isDisowned).encoded())
    }
  }

  /// The status, if it can be sent as it was read with the request's nonce. Nil if the reply must wait, or if a session
  /// must first be ended or stored.
  func statusAtOnce(_ moment: SessionMoment, _ call: Call) async throws -> ServiceReply? {
    guard call.request.preferredWait(longest: longestWait) == nil, let view = moment.view else { return nil }
    if let deadline = view.session.lifecycle.deadline, core.clock() >= deadline { return nil }
    guard !view.session.isNews, !view.session.lifecycle.isUncollected else { return nil }
    return try await reply(view, applied: nil, call)
  }

  /// The status, or, with `Prefer: wait`, the next one.
  ///
  /// - Parameter moment: what was read with the request's nonce.
  func status(of id: String, after moment: SessionMoment, _ call: Call) async throws -> ServiceReply {
    if let news = try await news(in: moment, call) { return news }
    let held = HeldStatus(id, call, replies: self)
    switch try await held.poll(isLast: false) {
    case .reply(let reply): return reply
    case .nothingYet(let patience):
      return ServiceReply(holding: HeldReply(held.watch, patience: patience) { try await held.poll(isLast: $0) })
    }
  }

  /// The status, if the client has not got it yet and need not wait for it.
  private func news(in moment: SessionMoment, _ call: Call) async throws -> ServiceReply? {
    let now = core.clock()
    guard let view = moment.view, !view.session.isOverdue(at: now) else { return nil }
    let wait = call.request.preferredWait(longest: longestWait)
    let lifecycle = view.session.lifecycle
    guard view.session.isNews || wait == nil && lifecycle.isUncollected else { return nil }
    // See ``HeldStatus``: the phone's answer may come at once.
    guard wait == nil || lifecycle.status != .identifying else { return nil }
    return try await deliver(view, applied: wait, call, at: now)
  }

  /// The status reply for the client, with an approval token if there is one.
  func reply(_ view: SessionView, applied wait: Int64?, _ call: Call) async throws -> ServiceReply {
    view.session.statusReply(view.approval, idToken: try await token(for: view, call), applied: wait)
  }

  private func token(for view: SessionView, _ call: Call) async throws -> String? {
    guard view.session.showsToken, let user = view.userID,
      let claims = ApprovalToken(
        view.session, user: user, issuer: call.address.url.issuer, clock: core.storage.clock)
    else { return nil }
    return try await core.signingKeys.signer(at: core.clock())?.sign(claims)
  }

  /// Ends the session. A second call changes nothing, and succeeds.
  func logOut(_ id: String) async throws -> ServiceReply {
    let now = core.clock()
    let closed = try await core.storage.logOut(id, at: now)
    if let closed { core.announceEnd(of: [closed]) }
    return ServiceReply(200, AcknowledgementReply(done: true, session: id).encoded())
  }

  /// The present session. If it has expired, its end is stored.
  func settled(_ id: String, at now: UnixTime) async throws -> SessionView? {
    guard let read = try await core.sessionViews.view(of: id) else { return nil }
    guard read.session.isOverdue(at: now) else { return read }
    guard let change = try await core.storage.end(id, ifOverdueAt: now) else { return nil }
    if change.isChanged { core.announceEnd(of: [change.view.session]) }
    return change.view
  }

  /// Sends the status to the client, and notes that.
  ///
  /// - Parameter known: the session as it was read before.
  func deliver(
    _ known: SessionView, applied wait: Int64?, _ call: Call, at now: UnixTime
  ) async throws -> ServiceReply {
    guard let view = try await core.storage.collect(known, at: now) else { return .refused(.unknownSession) }
    return try await reply(view, applied: wait, call)
  }

  /// The keys by which others verify approval tokens (RFC 7517 §5).
  func signingKeys(_ call: Call) async throws -> ServiceReply {
    if let body = core.signingKeys.body(at: core.clock()) { return ServiceReply(200, body) }
    return ServiceReply(200, try await core.forUnauthenticated(call) { try await core.signingKeys.readBody() })
  }
}

extension Session {
  /// How long a change counts as new, in milliseconds: the reply with it may have been lost.
  private static let freshTime: Int64 = 5_000
  /// The longest hold of a client that asks again meanwhile, in milliseconds.
  private static let freshHold: Int64 = 1_000

  /// Whether the client has not got this status yet.
  var isNews: Bool { lifecycle.status != delivered }

  /// Until when a client that knows the status is held.
  func holdEnd(arrival: UnixTime, wait: Int64) -> UnixTime {
    let usual = arrival.advanced(seconds: wait).together(for: wait)
    let isFresh = !lifecycle.isUnanswered && arrival.milliseconds(since: deliveredAt) < Self.freshTime
    return isFresh ? min(usual, UnixTime(milliseconds: arrival.milliseconds + Self.freshHold)) : usual
  }

  mutating func markDelivered(at now: UnixTime) {
    guard isNews else { return }
    delivered = lifecycle.status
    deliveredAt = now
  }

  /// - Parameters:
  ///   - approval: the approval, if the session is active and has a challenge.
  ///   - idToken: the approval token, if the session is active and its computer asked for one.
  func statusReply(_ approval: JSON?, idToken: String? = nil, applied wait: Int64?) -> ServiceReply {
    let body = StatusReply(
      status: lifecycle.status, authenticated: lifecycle.isApproved, reason: lifecycle.ending?.rawValue, session: id,
      approval: approval, idToken: idToken, approvedBy: lifecycle.status == .active ? answeredBy : nil
    ).encoded()
    let reply = ServiceReply(200, body)
    return wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply
  }

  fileprivate func started(at url: ServerURL, isRung: Bool) throws(SealFault) -> StartedSession {
    StartedSession(
      status: lifecycle.status, statusURL: url.route(["authentication", "session_status", id]),
      logoutURL: url.route(["authentication", "session_logout", id]), token: token, secret: try secret.value,
      matchCode: matchCode?.exposedValue, phonePage: isRung ? nil : url.route(["phone", ""]), name: id,
      challenge: challenge)
  }
}

extension ServiceReply {
  fileprivate static func notStarted(_ reason: Reason) -> ServiceReply {
    ServiceReply(200, StartReply.notStarted(reason: reason.rawValue).encoded(), reason: reason)
  }
}

extension UnixTime {
  /// Rounds the ends of long holds down to a second, so that a computer with a thousand sessions, and this service,
  /// wake once for all of them.
  fileprivate func together(for wait: Int64) -> UnixTime {
    let second: Int64 = 1_000
    return wait < 10 ? self : UnixTime(milliseconds: milliseconds / second * second)
  }
}
