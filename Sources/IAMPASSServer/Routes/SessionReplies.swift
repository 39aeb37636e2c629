import GRDB
import IAMPASSProtocol

// A session as its client sees it: started, asked, ended.

extension Service {
  func startSession(for name: String, by starter: Starter, _ call: Call) async throws -> ServiceReply {
    let methods: [AuthenticationMethod]
    switch StartOptions.methods(of: call.target) {
    case .refused(let reply): return reply
    case .asked(let asked): methods = asked
    }
    guard let duration = StartOptions.duration(of: call.target) else { return .refused(400, .badDuration) }
    guard let start = try? StartRequest(parsing: call.request.body) else { return .refused(400, .badRequest) }
    // Else whoever holds one host's credential asks in the name of another.
    let context = starter.context(start.context ?? SignInContext())
    guard context.isWithinBounds else { return .refused(400, .badRequest) }
    let bootID = call.signedBootID(of: start)
    try await endEarlierBoots(than: bootID, of: starter)
    let now = clock()
    let outcome = try await storage.write { db -> StartOutcome in
      // Read again: it may have been revoked since its signature was checked.
      guard try starter.isUsable(in: db) else { return .revoked }
      let settings = try ApplicationSettings.of(starter.application.id, in: db)
      guard !settings.isDisabled else { return .notStarted(.applicationDisabled) }
      guard let user = try User.find(name, application: starter.application.id, in: db) else { return .unknownUser }
      guard let phone = try Phone.live(of: user.id, in: db) else { return .notStarted(.noMobileDevice) }
      guard let method = try phone.methods(in: db).last(where: methods.contains) else {
        return .notStarted(.methodNotAvailable)
      }
      // Who sends no context knows nothing of codes, and would not show one.
      guard settings.matchCodes != .required || start.context != nil else { return .notStarted(.contextRequired) }
      var session = try Session(
        startedBy: starter, from: call.client, user: user.id, context: context,
        duration: min(duration, settings.greatestDuration), answerTime: settings.answerTime, method: method,
        bootID: bootID, at: now)
      guard try !SourceBlock.isSet(user: user.id, source: session.source, at: now, in: db) else {
        return .notStarted(.sourceBlocked)
      }
      guard try !Denials.areTooMany(of: user.id, session, at: now, in: db) else {
        return .notStarted(.tooManyDenials)
      }
      let unended = try Session.unended(of: user.id, in: db)
      if let open = RequestPlaces.obstacle(to: session, among: unended.filter { $0.isUnanswered(at: now) }) {
        try open.countHeldBack(in: db)
        return .heldBack(user: user.id)
      }
      if settings.matchCodes != .off, start.context != nil {
        guard let code = try MatchCodesInUse(of: user.id, unended, at: now, in: db).fresh(for: session) else {
          return .notStarted(.tooManyRequests)
        }
        session.matchCode = code
      }
      try session.insert(in: db)
      return .started(session, isRung: try !phone.hasPage || PushBook.rings(phone.id, in: db))
    }
    switch outcome {
    case .revoked: return .refused(401, .credentialRevoked)
    case .unknownUser: return .refused(404, .unknownUser)
    case .notStarted(let reason): return .notStarted(reason)
    case .heldBack(let user):
      // The user's phone shows how many.
      board.changed(.user(user))
      return .notStarted(.requestPending)
    case .started(let session, let isRung):
      audit.started(session)
      announceChange(of: session)
      pushes.ring(for: session, contact: call.address.url.origin)
      return ServiceReply(202, StartReply.started(session.started(at: call.address.url, isRung: isRung)).encoded())
    }
  }

  /// The status, or, with `Prefer: wait`, the next one.
  func status(of session: Session, _ call: Call) async throws -> ServiceReply {
    let wait = call.request.preferredWait(longest: longestWait)
    let arrival = clock()
    let watch = board.watch(.session(session.id))
    if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
    var hasAnswerTime = false
    while true {
      let now = clock()
      guard let current = try await settled(session.id, at: now) else { return .refused(404, .unknownSession) }
      let patience = current.holdEnd(arrival: arrival, wait: wait ?? 0).milliseconds(since: now)
      // Another request of this client may have been told the change while this one was held.
      let isNews = current.isNews || current.deliveredAt > arrival
      if wait != nil, isNews, current.lifecycle.status == .identifying, !hasAnswerTime {
        hasAnswerTime = true
        if await watch.wait(milliseconds: Self.answerTime) { continue }
      }
      if isNews || patience <= 0 {
        // A client that polls is told what it knows, and nothing is written for that.
        guard isNews || current.lifecycle.isUncollected else { return current.statusReply(applied: wait) }
        return try await deliver(session.id, applied: wait, at: now)
      }
      let untilDeadline = current.lifecycle.deadline?.milliseconds(since: now) ?? patience
      // No waiting any more: the client has gone, and must not count as one that was told; or the service stops.
      guard await watch.wait(milliseconds: min(patience, untilDeadline)) else {
        return current.statusReply(applied: wait)
      }
    }
  }

  /// A phone that answers as soon as it has the request is not told of twice: held replies wait for its answer this
  /// long, in milliseconds.
  private static let answerTime: Int64 = 50

  /// Ends the session. A second call changes nothing, and succeeds.
  func logOut(_ session: Session) async throws -> ServiceReply {
    let now = clock()
    let closed = try await storage.write { db -> Session? in
      guard var current = try Session.find(id: session.id, in: db), current.lifecycle.endedAt == nil else { return nil }
      current.lifecycle.close(.loggedOut, at: now)
      try current.update(in: db)
      return current
    }
    if let closed { announceEnd(of: [closed]) }
    return ServiceReply(200, AcknowledgementReply(done: true, session: session.id).encoded())
  }

  /// The session as it is now; what time has ended is stored as ended.
  private func settled(_ id: String, at now: UnixTime) async throws -> Session? {
    guard let read = try await storage.read({ try Session.find(id: id, in: $0) }) else { return nil }
    guard let deadline = read.lifecycle.deadline, now >= deadline else { return read }
    _ = try await closeOverdue(at: now)
    return try await storage.read { try Session.find(id: id, in: $0) }
  }

  /// Tells the client the status, and remembers that it knows.
  private func deliver(_ id: String, applied wait: Int64?, at now: UnixTime) async throws -> ServiceReply {
    let told = try await storage.write { db -> Session? in
      guard var current = try Session.find(id: id, in: db) else { return nil }
      let before = current.lifecycle
      current.lifecycle.collect(at: now)
      if current.lifecycle != before || current.isNews {
        current.markDelivered(at: now)
        try current.update(in: db)
      }
      return current
    }
    guard let told else { return .refused(404, .unknownSession) }
    return told.statusReply(applied: wait)
  }

  private enum StartOutcome: Sendable {
    case revoked
    case unknownUser
    case notStarted(Reason)
    /// Counted with the request that is open.
    case heldBack(user: Int64)
    /// `isRung`: the phone comes to know by itself.
    case started(Session, isRung: Bool)
  }
}

extension Starter {
  /// What the phone is told: a host credential's host is the service's own word.
  fileprivate func context(_ claimed: SignInContext) -> SignInContext {
    guard let credential else { return claimed }
    var context = claimed
    context.host = credential.host
    return context
  }
}

extension Session {
  fileprivate func isUnanswered(at now: UnixTime) -> Bool {
    var current = lifecycle
    current.settle(at: now)
    return current.isUnanswered
  }

  /// A reply may be lost on the way: for this long after a change, in milliseconds, …
  private static let freshTime: Int64 = 5_000
  /// … a client that asks again is held no longer than this, in milliseconds.
  private static let freshHold: Int64 = 1_000

  /// Whether the client has not been told yet.
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

  func statusReply(applied wait: Int64?) -> ServiceReply {
    let body = StatusReply(
      status: lifecycle.status, authenticated: lifecycle.isApproved, reason: lifecycle.ending?.rawValue, session: id
    ).encoded()
    let reply = ServiceReply(200, body)
    return wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply
  }

  fileprivate func started(at url: ServerURL, isRung: Bool) -> StartedSession {
    StartedSession(
      status: lifecycle.status, statusURL: url.route(["authentication", "session_status", id]),
      logoutURL: url.route(["authentication", "session_logout", id]), token: token, secret: secret,
      matchCode: matchCode?.exposedValue, phonePage: isRung ? nil : url.route(["phone", ""]), name: id)
  }
}

/// The query of `authenticate_user`.
private enum StartOptions {
  enum Methods {
    /// Any of these will do; which one is asked for is the strongest that the phone has.
    case asked([AuthenticationMethod])
    case refused(ServiceReply)
  }

  /// All where none are named.
  static func methods(of target: Target) -> Methods {
    guard target.has("methods") else { return .asked(AuthenticationMethod.allCases) }
    guard let text = target.value("methods") else { return .refused(.refused(400, .badRequest)) }
    let words = text.split(separator: ",").map(String.init)
    let methods = words.compactMap(AuthenticationMethod.init(rawValue:))
    guard methods.count == words.count else { return .refused(.refused(400, .unknownMethod)) }
    return .asked(methods.isEmpty ? AuthenticationMethod.allCases : methods)
  }

  /// Seconds; nil where it is no number within bounds.
  static func duration(of target: Target) -> Int64? {
    guard target.has("duration_seconds") else { return SessionLifecycle.usualDuration }
    guard let seconds = target.value("duration_seconds").flatMap({ Int64($0) }),
      SessionLifecycle.durations.contains(seconds)
    else { return nil }
    return seconds
  }
}

extension ServiceReply {
  fileprivate static func notStarted(_ reason: Reason) -> ServiceReply {
    ServiceReply(200, StartReply.notStarted(reason: reason.rawValue).encoded(), reason: reason)
  }
}

extension UnixTime {
  /// Long holds, in seconds, that end in one second end at its beginning: a host with a thousand sessions, and this
  /// service, are woken once for all of them.
  fileprivate func together(for wait: Int64) -> UnixTime {
    let second: Int64 = 1_000
    return wait < 10 ? self : UnixTime(milliseconds: milliseconds / second * second)
  }
}
