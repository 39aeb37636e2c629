import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// One sign-in by phone, from the user's name to the record of an active session. If the phone cannot be asked, a
/// recovery code or the phone's digits may be typed instead, if the PAM service allows them.
///
/// It does not use PAM, the network or files, so that it can run for callers without access to them.
public struct LoginAttempt {
  let request: LoginRequest
  let policy: LoginPolicy
  let tokens: any TokenLookup
  /// The trusted phones; nil if the service is trusted.
  let trust: (any ApprovalTrust)?
  let service: any AuthenticationService
  let conversation: any Conversation
  let limit: any RequestLimit
  let recorder: any SessionRecorder
  let clock: any LoginClock
  /// The ways without the service; nil if there is none.
  let offline: OfflineWays?
  /// Keeps unanswered requests; nil: they are cancelled.
  let resumable: (any ResumableRequests)?

  public init(
    request: LoginRequest, policy: LoginPolicy, tokens: any TokenLookup, trust: (any ApprovalTrust)?,
    service: any AuthenticationService, conversation: any Conversation, limit: any RequestLimit,
    recorder: any SessionRecorder, clock: any LoginClock, offline: OfflineWays? = nil,
    resumable: (any ResumableRequests)? = nil
  ) {
    self.request = request
    self.policy = policy
    self.tokens = tokens
    self.trust = trust
    self.service = service
    self.conversation = conversation
    self.limit = limit
    self.recorder = recorder
    self.clock = clock
    self.offline = offline
    self.resumable = resumable
  }

  public func run() -> LoginOutcome {
    var outcome = LoginOutcome.refused(.notDecided)
    do throws(Refusal) {
      do throws(Refusal) { outcome = .approved(try byPhone()) } catch {
        guard let offline, let reason = error.offersCode else { throw error }
        outcome = .offline(try withoutTheService(offline, after: error, reason))
      }
    } catch { outcome = .refused(error) }
    return outcome
  }

  private func byPhone() throws(Refusal) -> SignIn {
    let token = try lookUpToken()
    // This holds for any `prompt`: there is no user at a terminal.
    if request.asksNothing { throw .asksNothing }
    // sshd's prompt must not reveal who has a phone here.
    if !request.isSSH { _ = try question() }
    try requireRecordable()
    try askBeforeRinging()
    let known = try requireToken(token)
    let question = try question()
    try requireCommandToShow()
    try getReadyToVerify(question)
    let deadline = clock.now().advanced(milliseconds: policy.timeout * 1_000)
    let pending = try asked(known, question, by: deadline)
    let active = try approvalOrCancel(pending, mark: question.mark(of: known), deadline: deadline)
    return SignIn(session: active, record: try record(active))
  }
}

extension LoginAttempt {
  /// Without a token the attempt ends here. sshd still asks: a missing prompt would reveal who has a token, and which
  /// names this computer knows.
  private func lookUpToken() throws(Refusal) -> Result<Secret, Refusal> {
    let token: Result<Secret, Refusal>
    do { token = try tokens.token(of: request.user).map { .success($0) } ?? .failure(.noToken) } catch {
      if case .misconfigured = error { throw error }
      token = .failure(error)
    }
    if !request.isSSH { _ = try token.get() }
    return token
  }

  private func requireToken(_ token: Result<Secret, Refusal>) throws(Refusal) -> Secret {
    // sshd offers a recovery code only if the service does not answer: then it must be offered for every name.
    if case .failure = token, offline != nil, request.isSSH { try reachService() }
    return try token.get()
  }

  /// Fails with the network's error, as the request of a user with a token would.
  private func reachService() throws(Refusal) {
    try countRequest()
    // This takes as long as a user's start may take: the time must not reveal who has a token.
    let seconds = min(LoginPolicy.greatestStartSeconds, policy.timeout)
    let deadline = clock.now().advanced(milliseconds: seconds * 1_000)
    do { try service.reach(deadline: deadline) } catch {
      let refusal = Refusal(error)
      if !refusal.mayHaveRung { try? limit.forgive() }
      throw refusal
    }
    try? limit.forgive()
  }

  /// The question for the phone. Throws for a user without a trusted phone, who must not be rung.
  private func question() throws(Refusal) -> ApprovalQuestion {
    guard let trust else {
      return .service(methods: policy.methods, context: policy.sendsContext ? request.context : nil)
    }
    guard policy.sendsContext else { throw .misconfigured(.verifiedWithoutContext) }
    do { return .phone(try trust.demand(of: request.user, asked: policy.methods), context: request.context) } catch {
      throw Refusal(error)
    }
  }

  /// Throws if no record could be kept, because the session would then be refused.
  private func requireRecordable() throws(Refusal) {
    guard policy.mustWatch else { return }
    do { try recorder.requireRecordable() } catch { throw .notRecordable(error) }
  }

  /// Throws if the phone must show the command but it is not known.
  private func requireCommandToShow() throws(Refusal) {
    guard policy.sendsContext, policy.sendsCommand else { return }
    guard let command = request.command else { throw .commandNotRead }
    if policy.refusesLongCommands, LongCommand.isLong(command) { throw .commandTooLong }
  }

  private func askBeforeRinging() throws(Refusal) {
    guard let question = policy.questionBeforeRinging(request) else {
      service.prepare()
      return
    }
    let prompt = question.prompt
    // A host that does not show lines may still ask.
    if let line = question.line { try? conversation.say(line) }
    // ssh without a terminal, and su behind a pipe, answer the question before a user can read it.
    var answer = try self.answer(to: prompt)
    if answer == nil { answer = try self.answer(to: prompt) }
    guard let typed = answer else { throw .answeredByNobody }
    guard typed.isEmpty else {
      // If a first factor's password is already there, any text would pass as the second factor.
      if request.hasPassword { throw .textAtSecondFactor }
      do { try conversation.keepPassword(typed) } catch { throw .terminalGone }
      throw .passwordTyped
    }
    service.prepare()
  }

  /// The typed text; nil for an empty answer that came faster than a person reads, unless it was typed beforehand.
  private func answer(to prompt: String) throws(Refusal) -> Secret? {
    let asked = clock.now()
    let typed: Secret?
    do { typed = try conversation.ask(prompt) } catch { throw .terminalGone }
    guard let typed else { throw .promptNotAnswered }
    let took = clock.now().milliseconds(since: asked)
    return typed.isEmpty && took < LoginPolicy.fastestEnter && !request.isAtGreeter ? nil : typed
  }

  /// Throws if this computer cannot check signatures, before a phone rings. The worker of
  /// ``AuthenticationService/prepare()`` loads its libraries meanwhile.
  private func getReadyToVerify(_ question: ApprovalQuestion) throws(Refusal) {
    do { try question.prepareToVerify() } catch { throw .cannotVerify(error) }
  }

  private func countRequest() throws(Refusal) {
    do { try limit.admit() } catch {
      switch error {
      case .tooMany(let seconds): throw .tooManyRequests(secondsLeft: seconds)
      case .broken(let file): throw .limiterBroken(file)
      }
    }
  }

  /// The request whose answer is awaited.
  private func asked(
    _ token: Secret, _ question: ApprovalQuestion, by deadline: MonotonicInstant
  ) throws(Refusal) -> PendingSession {
    if let left = try leftOpen(question, mark: question.mark(of: token), by: deadline) { return left }
    try countRequest()
    return try start(token, question, by: deadline)
  }

  private func start(
    _ token: Secret, _ question: ApprovalQuestion, by deadline: MonotonicInstant
  ) throws(Refusal) -> PendingSession {
    do { return try startInTurn(token, question, by: deadline) } catch {
      if !counts(error, question) { try? limit.forgive() }
      throw error
    }
  }

  /// Whether a sign-in that began no request uses up one of the few that a source has.
  ///
  /// Every code that the service may have read counts, whatever the reason of the refusal and the result of later
  /// starts. Otherwise a hostile service could have new codes chosen until one is the code of another terminal. A start
  /// without a code does not count during an outage, because no phone rang.
  private func counts(_ refusal: Refusal, _ question: ApprovalQuestion) -> Bool {
    question.carriesCode ? service.startMayHaveArrived : refusal.mayHaveRung
  }

  /// Starts the request. A second sudo, or ssh connection from the same host, waits until the first request has ended.
  private func startInTurn(
    _ token: Secret, _ question: ApprovalQuestion, by deadline: MonotonicInstant
  ) throws(Refusal) -> PendingSession {
    var hasSaid = false
    while true {
      do { return try sendStart(token, question, by: deadline) } catch {
        guard error == .notStarted(reason: ReasonWord.requestPending), request.waitsItsTurn,
          deadline.milliseconds(since: clock.now()) > LoginPolicy.ownRequestStep + LoginPolicy.leastForAnAnswer
        else { throw error }
        do { if !hasSaid { try conversation.say(Refusal.waitsForOwn) } } catch {
          throw givenUp(.terminalGone, question)
        }
        hasSaid = true
        if clock.pause(milliseconds: LoginPolicy.ownRequestStep) { throw givenUp(.interrupted, question) }
      }
    }
  }

  /// An ending before any phone rang. It does not count if the service has not read a code.
  private func givenUp(_ refusal: Refusal, _ question: ApprovalQuestion) -> Refusal {
    if !question.carriesCode { try? limit.forgive() }
    return refusal
  }

  private func sendStart(
    _ token: Secret, _ question: ApprovalQuestion, by end: MonotonicInstant
  ) throws(Refusal) -> PendingSession {
    let allowed = clock.now().advanced(milliseconds: LoginPolicy.greatestStartSeconds * 1_000)
    do {
      let answer = try service.start(
        token: token, question, durationSeconds: policy.sessionDuration, deadline: min(allowed, end))
      switch answer {
      case .pending(let session): return session
      case .notVerifiable(let session):
        cancel(session)
        throw Refusal.notVerifiable
      case .wantsCode(let session):
        cancel(session)
        throw Refusal.notStarted(reason: ReasonWord.codeRequired)
      case .notStarted(ReasonWord.noMobileDevice): throw Refusal.noPhone
      case .notStarted(let reason): throw Refusal.notStarted(reason: reason)
      }
    } catch let refusal as Refusal { throw refusal } catch let error as ServiceError { throw Refusal(error) } catch {
      throw .notDecided
    }
  }

  /// Waits for the approval. Every other ending cancels the request at the service, or leaves it to the next Enter.
  private func approvalOrCancel(
    _ pending: PendingSession, mark: String, deadline: MonotonicInstant
  ) throws(Refusal) -> ActiveSession {
    do {
      try announce(pending)
      let active = try ApprovalWait(service: service, conversation: conversation, clock: clock, deadline: deadline)
        .approval(of: pending)
      try requireStillTrusted(active)
      return active
    } catch {
      let ending = afterLastLook(at: pending, error)
      if ending == .notAnswered, leaves(pending, mark: mark) { throw ending }
      cancel(pending.remote)
      throw ending
    }
  }

  /// Checks for a denial after the last question about the status: a prompt for a code must not follow a denial. If it
  /// is not known, no code is asked for. An approval is too late.
  private func afterLastLook(at pending: PendingSession, _ ending: Refusal) -> Refusal {
    guard offline != nil, ending == .notAnswered else { return ending }
    let deadline = clock.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds)
    do {
      switch try service.approval(of: pending, waitSeconds: nil, deadline: deadline) {
      case .approved, .waiting: return ending
      case .ended(let status, let reason): return Refusal(endedBy: status, reason: reason)
      }
    } catch { return Refusal(error) == .interrupted ? .interrupted : .offered(.withheld, after: ending) }
  }

  /// Throws if an administrator has removed the phone from the list while it was asked.
  private func requireStillTrusted(_ active: ActiveSession) throws(Refusal) {
    guard let trust else { return }
    guard let approval = active.approval else { throw .notDecided }
    let isTrusted: Bool
    do { isTrusted = try trust.stillTakes(approval, of: request.user, asked: policy.methods) } catch {
      throw Refusal(error)
    }
    guard isTrusted else { throw .phoneForgotten }
  }

  private func announce(_ pending: PendingSession) throws(Refusal) {
    let phone = "on your phone" + (pending.phonePage.map { " (\($0))" } ?? "")
    do {
      guard let code = pending.matchCode else {
        try conversation.say("Approve the sign-in \(phone)")
        return
      }
      guard request.shows == .prompts else {
        try conversation.say("Approve the sign-in \(phone): code \(code)")
        return
      }
      guard try conversation.ask("Code \(code): approve \(phone), then press Enter: ") != nil else {
        throw Refusal.abandoned
      }
    } catch let refusal as Refusal { throw refusal } catch { throw .abandoned }
  }

  /// Records the session. Throws if the session must be watched but cannot be recorded.
  private func record(_ active: ActiveSession) throws(Refusal) -> SessionRecord? {
    // The request was answered. If it cannot be forgiven, it still counts, which is the safe side.
    try? limit.forgive()
    do { return try recorder.record(active) } catch {
      if !policy.mustWatch { return nil }
      cancel(active.remote)
      throw .recordNotKept(error)
    }
  }

  /// Cancels a request at the service. If that fails, it expires there by itself.
  func cancel(_ session: RemoteSession) {
    try? service.end(session, deadline: clock.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds))
  }
}
