import DeviceProtocol
import GRDB
import IAMPASSProtocol

// The service as the phone sees it.

extension Service {
  /// The open requests, or, with `Prefer: wait`, the next change of them. Listed is seen.
  func listRequests(_ call: Call) async throws -> ServiceReply {
    switch try await deviceCheck.ask(in: call, purposes: [.requests]) {
    case .refused(let reply): return reply
    case .verified(let (verified, ask)):
      try await heard(verified.phone, call, isAsking: true)
      let wait = call.request.preferredWait(longest: Service.usualWait)
      let end = clock().advanced(seconds: wait ?? 0)
      let watch = board.watch(.user(verified.user))
      if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
      while true {
        let now = clock()
        guard let open = try await openRequests(of: verified, at: now) else { return .refused(403, .deviceCutOff) }
        let patience = end.milliseconds(since: now)
        let isNews = Set(open.map(\.session)) != Set(ask.known)
        guard !isNews, patience > 0 else { return try await show(open, of: verified.user, applied: wait, at: now) }
        let untilDeadline = open.map { $0.secondsLeft * 1_000 + 1_000 }.min() ?? patience
        guard await watch.wait(milliseconds: min(patience, untilDeadline)) else {
          return ServiceReply(200, RequestsReply(requests: open).encoded())
        }
      }
    }
  }

  /// The phone leaves or comes back, and its sessions with it.
  func changePresence(_ call: Call) async throws -> ServiceReply {
    switch try await deviceCheck.ask(in: call, purposes: [.leave, .return]) {
    case .refused(let reply): return reply
    case .verified(let (verified, ask)):
      let now = clock()
      let presence: Presence = ask.purpose == .leave ? .away : .present
      let changed = try await storage.write { db -> [Session]? in
        // Read again: the phone may have been cut off since its signature was checked.
        guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else { return nil }
        try verified.phone.set(presence, in: db)
        var changed: [Session] = []
        let walksAway = try ApplicationSettings.ofUser(verified.user, in: db).walkaway
        // Who came back is back, also where walking away was switched off meanwhile.
        guard walksAway || presence == .present else { return changed }
        for var session in try Session.unended(of: verified.user, in: db) {
          let before = session.lifecycle.status
          if presence == .away { session.lifecycle.leave(at: now) } else { session.lifecycle.comeBack(at: now) }
          guard session.lifecycle.status != before else { continue }
          try session.update(in: db)
          changed.append(session)
        }
        return changed
      }
      guard let changed else { return DeviceRefusal.cutOff.reply }
      for session in changed {
        audit.moved(session)
        announceChange(of: session)
      }
      // Only now: who was silent and says that he leaves is not back for a moment.
      try await heard(verified.phone, call)
      return try await describe(verified, presence: presence, at: now)
    }
  }

  func deviceStatus(_ call: Call) async throws -> ServiceReply {
    switch try await deviceCheck.ask(in: call, purposes: [.status]) {
    case .refused(let reply): return reply
    case .verified(let (verified, _)):
      try await heard(verified.phone, call)
      return try await describe(verified, presence: verified.phone.presence, at: clock())
    }
  }

  /// Ends sessions of this phone's user, all or none. One that has ended already is no error.
  func endSessions(_ call: Call) async throws -> ServiceReply {
    let verified: VerifiedStatement
    switch try await deviceCheck.ask(in: call, purposes: [.end]) {
    case .refused(let reply): return reply
    case .verified(let (statement, _)): verified = statement
    }
    try await heard(verified.phone, call)
    guard let ids = try? EndStatement(verified.statement).sessions else { return .refused(400, .badRequest) }
    let now = clock()
    let outcome = try await storage.write { db -> Result<[Session], DeviceRefusal> in
      guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else { return .failure(.cutOff) }
      var sessions: [Session] = []
      for id in Set(ids) {
        guard let session = try Session.find(id: id, in: db), session.user == verified.user else {
          return .failure(DeviceRefusal(status: 404, reason: .unknownSession))
        }
        sessions.append(session)
      }
      return .success(try Session.close(sessions, .endedOnPhone, at: now, in: db))
    }
    switch outcome {
    case .failure(let refusal): return refusal.reply
    case .success(let ended):
      announceEnd(of: ended)
      return try await describe(verified, presence: verified.phone.presence, at: now)
    }
  }

  /// The phone gives its user up. What it approved goes on; what it has not answered is closed.
  func unregister(_ call: Call) async throws -> ServiceReply {
    let verified: VerifiedStatement
    switch try await deviceCheck.ask(in: call, purposes: [.unregister]) {
    case .refused(let reply): return reply
    case .verified(let (statement, _)): verified = statement
    }
    let now = clock()
    let closed = try await storage.write { db -> [Session]? in
      guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else { return nil }
      try Phone.cutOff(user: verified.user, at: now, in: db)
      try Link.revokeAll(of: verified.user, in: db)
      return try Session.close(all: .unanswered, of: verified.user, .phoneUnregistered, at: now, in: db)
    }
    guard let closed else { return .refused(403, .deviceCutOff) }
    audit.cutOff(phone: verified.phone.id, user: verified.user)
    announceEnd(of: closed)
    board.changed(.user(verified.user))
    return .done
  }

  var deviceCheck: DeviceCheck { DeviceCheck(storage: storage) }

  /// The user's open requests; nil where the phone was cut off meanwhile.
  func openRequests(of verified: VerifiedStatement, at now: UnixTime) async throws -> [OpenRequest]? {
    try await storage.read { db in
      guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else { return nil }
      let credential = try VerifiedCredential.of(phone: verified.phone.id, in: db)?.id
      return try Session.unended(of: verified.user, in: db).compactMap {
        $0.openRequest(at: now, credential: credential)
      }
    }
  }

  /// Marks the requests as seen before they are shown, so that their clients say "identifying".
  func show(
    _ open: [OpenRequest], of user: Int64, applied wait: Int64?, at now: UnixTime
  ) async throws -> ServiceReply {
    let ids = Set(open.map(\.session))
    let seen = try await storage.write { db in
      var seen: [Session] = []
      for var session in try Session.unended(of: user, in: db)
      where ids.contains(session.id) && session.lifecycle.status == .pending {
        session.lifecycle.seen(at: now)
        try session.update(in: db)
        seen.append(session)
      }
      return seen
    }
    for session in seen { board.changed(.session(session.id)) }
    let reply = ServiceReply(200, RequestsReply(requests: open).encoded())
    return wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply
  }

  func describe(
    _ verified: VerifiedStatement, presence: Presence, at now: UnixTime
  ) async throws -> ServiceReply {
    let reply = try await storage.read { [clock = storage.clock] db in
      DeviceStatusReply(
        application: try Application.name(of: verified.user, in: db), user: verified.phone.displayName,
        presence: presence,
        sessions: try Session.unended(of: verified.user, in: db).compactMap { $0.liveSession(at: now, clock) },
        methods: try verified.phone.methods(in: db),
        walksAway: try ApplicationSettings.ofUser(verified.user, in: db).walkaway)
    }
    return ServiceReply(200, reply.encoded())
  }
}

extension Session {
  /// - Parameter credential: the phone's own, for the method `device`.
  fileprivate func openRequest(at now: UnixTime, credential: String?) -> OpenRequest? {
    var current = lifecycle
    current.settle(at: now)
    guard current.isUnanswered else { return nil }
    return OpenRequest(
      session: id, nonce: answerNonce, expires: current.answerDeadline.seconds,
      secondsLeft: current.answerDeadline.milliseconds(since: now) / 1_000, context: context,
      method: method, asksCode: matchCode != nil, credential: method == .device ? credential : nil,
      blocked: heldBack)
  }

  /// - Parameter clock: for the times that the phone shows.
  fileprivate func liveSession(at now: UnixTime, _ clock: StorageClock) -> LiveSession? {
    var current = lifecycle
    current.settle(at: now)
    guard current.isApproved, let since = current.approvedAt, let expiry = current.expiry else { return nil }
    return LiveSession(
      session: id, status: current.status, since: clock.unixTime(of: since).seconds,
      expires: clock.unixTime(of: expiry).seconds, context: context)
  }
}
