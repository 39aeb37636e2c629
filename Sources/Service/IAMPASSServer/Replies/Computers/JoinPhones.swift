import DeviceProtocol
import IAMPASSProtocol

/// Asks administrators' phones about a computer that waits to join, and does what they say.
struct JoinPhones: Sendable {
  /// Seconds that an approval waits until the computer asks again.
  private static let duration: Int64 = 60

  let core: ServiceCore
  let sessions: SessionReplies

  /// - Returns: whether something was decided.
  func attend(_ id: String, _ call: Call) async throws -> Bool {
    let now = core.clock()
    guard let one = try await core.storage.waitingJoin(id) else { return true }
    let admins = try await core.storage.administrators().filter { $0.role == .admin && $0.phone != nil }
    guard !admins.isEmpty else { return false }
    switch JoinApproval.next(one, admins: Set(admins.compactMap(\.user)), at: now) {
    case .wait: return false
    case .ask:
      for admin in admins.prefix(JoinApproval.greatestAsked) { try await ask(admin.name, about: one, call, at: now) }
      return false
    case .decide(let isApproved, let session):
      let name = admins.first { $0.user == session.user }?.name ?? ""
      return try await decide(one, isApproved: isApproved, by: name, session, at: now)
    }
  }

  /// A phone that cannot be asked now is not asked: the console and the command line can decide, too.
  private func ask(_ name: String, about one: WaitingJoin, _ call: Call, at now: UnixTime) async throws {
    guard let own = try await core.storage.administratorsApplication(),
      let application = try await core.storage.application(own)
    else { return }
    let joining = one.joining
    let context = SignInContext(
      host: joining.name, service: "join to \(one.application)", remoteHost: joining.address)
    guard context.isWithinBounds else { return }
    var named = SessionStartRequest(
      user: name, signInClient: SignInClient(application: application, credential: nil), client: call.client,
      methods: AuthenticationMethod.allCases, duration: Self.duration, context: context, hasContext: true,
      challenge: nil, matchCode: JoinApproval.code(of: joining.mark), boot: nil)
    named.name = JoinApproval.startName(of: one, to: name, at: now)
    let ask = named
    let start = try await core.storage.start(ask, at: now) { record in
      StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
    }
    core.announceEnd(of: start.ended)
    switch start.outcome {
    case .started(let session, _):
      _ = try await core.storage.noteJoinAsk(session.id, about: joining.id)
      sessions.announce(session, call)
    case .begun(let session, _):
      // Whoever started it was stopped before it noted that, or is about to.
      let isNew = try await core.storage.noteJoinAsk(session.id, about: joining.id)
      if isNew, session.lifecycle.isUnanswered { sessions.announce(session, call) }
    case .not: return
    }
  }

  private func decide(
    _ one: WaitingJoin, isApproved: Bool, by name: String, _ session: Session, at now: UnixTime
  ) async throws -> Bool {
    let act = ConsoleAct(administrator: name, approval: session.id, seen: nil)
    let decision = try await AuditActor.$current.withValue(session.answeredBy.map(AuditActor.phone)) {
      try await ConsoleAct.$current.withValue(act) {
        try await core.storage.decideJoin(one.joining.id, isApproved: isApproved, at: now)
      }
    }
    for ask in one.asks where ask.lifecycle.endedAt == nil { _ = try await sessions.logOut(ask.id) }
    core.board.changed(.joining(name: one.joining.name, mark: one.joining.mark))
    guard case .done = decision else { return false }
    core.logger.notice(
      isApproved ? "an administrator's phone let a computer join" : "an administrator's phone refused a computer",
      metadata: [
        "administrator": "\(name)", "session": "\(session.id)",
        "computer": "\(DisplayText.sanitized(one.joining.name))",
      ])
    return true
  }
}
