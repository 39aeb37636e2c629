import DeviceProtocol
import IAMPASSProtocol

/// The service's replies to phones.
struct DeviceReplies: Sendable {
  let core: ServiceCore
  let sessions: SessionReplies
  /// The push services that may be used.
  let pushTrust: PushTrust

  func reply(to route: PhoneRoute, _ call: Call) async throws -> ServiceReply {
    switch route {
    case .showLink(let code):
      try await core.forUnauthenticated(call) {
        try await RegistrationReplies(core: core, pushTrust: pushTrust).openLink(code, call)
      }
    case .register:
      try await core.forUnauthenticated(call) {
        try await RegistrationReplies(core: core, pushTrust: pushTrust).register(call)
      }
    case .credential: try await RegistrationReplies(core: core, pushTrust: pushTrust).addCredential(call)
    case .requests: try await RequestReplies(core: core).list(call)
    case .events: try await RequestReplies(core: core).stream(call)
    case .answer: try await AnswerReplies(core: core, sessions: sessions).take(call)
    case .document: try await DocumentReplies(core: core, sessions: sessions).page(call)
    case .presence: try await PresenceReplies(core: core).change(call)
    case .status: try await status(call)
    case .end: try await endSessions(call)
    case .unregister: try await unregister(call)
    case .pushKey: try await PushReplies(core: core, trust: pushTrust).key()
    case .push: try await PushReplies(core: core, trust: pushTrust).subscribe(call)
    case .look: try await PresenceReplies(core: core).look(call)
    case .face: try await FaceReplies(core: core).change(call)
    }
  }

  private func status(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.status]) { verified, _ in
      try await core.markSeen(verified.phone, call)
      return try await ClientDeparture.$current.withValue(ClientDeparture(call.request.hasLeft)) {
        try await core.describe(verified, presence: verified.phone.presence, at: core.clock())
      }
    }
  }

  /// Ends sessions of this phone's user: all of them, or none if one is unknown. A session may have ended already.
  private func endSessions(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.end]) { verified, _ in
      try await core.markSeen(verified.phone, call)
      guard let ids = try? EndStatement(verified.statement).sessions else { return .refused(.badRequest) }
      let now = core.clock()
      switch try await core.storage.endSessions(Set(ids), by: verified.acting, at: now) {
      case .cutOff: return Refusal.cutOff.reply
      case .unknownSession: return .refused(.unknownSession)
      case .ended(let ended):
        core.announceEnd(of: ended)
        return try await core.describe(verified, presence: verified.phone.presence, at: now)
      }
    }
  }

  /// Unregisters the phone. Sessions that it has approved go on, and its unanswered requests are closed.
  private func unregister(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.unregister]) { verified, _ in
      let now = core.clock()
      guard let closed = try await core.storage.unregister(verified.acting, at: now) else {
        return Refusal.cutOff.reply
      }
      core.audit.cutOff(phone: verified.phone.id, user: verified.user)
      core.announceEnd(of: closed)
      core.board.changed(.user(verified.user))
      return .done
    }
  }
}

extension ServiceCore {
  /// The reply to a request that a phone signed; refused unless the phone asks for one of `purposes`.
  func answering(
    _ call: Call, _ purposes: Set<DevicePurpose>, _ work: (VerifiedStatement, DeviceAsk) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    switch try await DeviceCheck(core: self).ask(in: call, purposes: purposes) {
    case .refused(let reply): return reply
    case .verified(let (verified, ask)):
      return try await AuditActor.$current.withValue(.phone(verified.phone.id)) { try await work(verified, ask) }
    }
  }

  /// The data that a phone shows of its user: presence, sessions and methods.
  func describe(
    _ verified: VerifiedStatement, presence: Presence, at now: UnixTime
  ) async throws -> ServiceReply {
    describe(verified, try await storage.account(of: verified.acting, at: now), presence: presence, at: now)
  }

  /// The same, if the data was read already.
  func describe(
    _ verified: VerifiedStatement, _ account: PhoneAccount, presence: Presence, at now: UnixTime
  ) -> ServiceReply {
    let reply = DeviceStatusReply(
      application: account.application, user: verified.phone.displayName, presence: presence,
      sessions: account.unended.compactMap {
        $0.liveSession(of: verified.phone, account.phones, at: now, storage.clock)
      },
      methods: account.methods, walksAway: account.walksAway, training: account.missingMethods,
      codesUsed: account.codeUses.map(\.report),
      phones: account.phones.map { $0.listed(for: verified.phone, storage.clock) },
      byLocums: account.byLocums.map {
        ApprovedByLocum(name: $0.name, at: storage.clock.unixTime(of: $0.at).seconds, context: $0.context)
      })
    return ServiceReply(200, reply.encoded())
  }
}

extension Phone {
  /// - Parameters:
  ///   - phone: the phone that gets the list.
  ///   - clock: the clock for the times that it shows.
  fileprivate func listed(for phone: Phone, _ clock: StorageClock) -> ListedPhone {
    ListedPhone(name: label, since: clock.unixTime(of: registeredAt).seconds, isThis: id == phone.id)
  }
}

extension Session {
  /// The name of the locum who answered.
  fileprivate var locumName: String? { locum.flatMap { $0.phone == answeredBy ? $0.name : nil } }

  /// - Parameters:
  ///   - phone: the phone that gets the session.
  ///   - phones: its user's phones.
  ///   - clock: the clock for the times that the phone shows.
  fileprivate func liveSession(
    of phone: Phone, _ phones: [Phone], at now: UnixTime, _ clock: StorageClock
  ) -> LiveSession? {
    var current = lifecycle
    current.settle(at: now)
    guard current.isApproved, let since = current.approvedAt, let expiry = current.expiry else { return nil }
    return LiveSession(
      session: id, status: current.status, since: clock.unixTime(of: since).seconds,
      expires: clock.unixTime(of: expiry).seconds, context: context,
      approvedOn: phones.first { $0.id == answeredBy && $0.id != phone.id }?.label ?? locumName)
  }
}
