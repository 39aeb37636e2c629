import IAMPASSProtocol

/// Whether what a computer asks for becomes a session, and if not, why. Pure: everything stored was gathered before.
enum StartPolicy {
  enum Decision: Sendable {
    case start(StartTerms)
    case refuse(Obstacle)
  }

  /// Why no session is started.
  enum Obstacle: Sendable {
    /// It was revoked since its signature was checked.
    case credentialRevoked
    /// The application does not have such a user.
    case unknownUser
    case reason(Reason)
    /// The phone has none of the methods, and its user could add one.
    case untrained(Training, user: Int64)
    /// This request is open, and counts the one that it holds back.
    case openRequest(Session, user: Int64)
  }

  static func decide(_ ask: StartAsk, _ facts: StartFacts, at now: UnixTime) -> Decision {
    guard facts.isStarterUsable else { return .refuse(.credentialRevoked) }
    guard !facts.settings.isDisabled else { return .refuse(.reason(.applicationDisabled)) }
    guard let user = facts.user else { return .refuse(.unknownUser) }
    guard let phone = user.phone else { return .refuse(.reason(.noMobileDevice)) }
    guard let method = phone.methods.last(where: ask.methods.contains) else {
      let training = Training(ask.methods, phone: phone.id, having: phone.methods, addable: phone.addable)
      return .refuse(training.map { .untrained($0, user: user.id) } ?? .reason(.methodNotAvailable))
    }
    guard facts.settings.matchCodes != .required || ask.hasContext else { return .refuse(.reason(.contextRequired)) }
    guard !user.isSourceBlocked else { return .refuse(.reason(.sourceBlocked)) }
    guard !user.hasTooManyDenials else { return .refuse(.reason(.tooManyDenials)) }
    let unanswered = user.unended.filter { $0.isUnanswered(at: now) }
    if let open = RequestPlaces.obstacle(to: ask.source, among: unanswered) {
      return .refuse(.openRequest(open, user: user.id))
    }
    let showsCode = ask.showsCode(under: facts.settings)
    guard !showsCode || user.freeCode != nil else {
      return .refuse(.reason(user.isCodeInUse ? .codeInUse : .tooManyRequests))
    }
    return .start(
      StartTerms(
        user: user.id, method: method, duration: min(ask.duration, facts.settings.greatestDuration),
        answerTime: min(ask.answerTime ?? .max, facts.settings.answerTime), matchCode: showsCode ? user.freeCode : nil,
        isRung: phone.isRung))
  }
}

/// What is stored about the computer that asks and the user who is asked, in one consistent view.
struct StartFacts: Sendable {
  struct AskedUser: Sendable {
    let id: Int64
    /// The live one.
    let phone: AskedPhone?
    /// The user said of this source that it was somebody else.
    let isSourceBlocked: Bool
    let hasTooManyDenials: Bool
    /// The sessions that had not ended when last stored, the oldest first.
    let unended: [Session]
    /// A match code that no terminal shows or showed just now: the computer's, or otherwise a drawn one. Nil if too few
    /// are left, or if the computer's is not free.
    let freeCode: Secret?
    /// The computer's code is not free, and another code may be.
    let isCodeInUse: Bool
  }

  struct AskedPhone: Sendable {
    let id: String
    /// The weakest first.
    let methods: [AuthenticationMethod]
    /// Those that its user can add.
    let addable: [AuthenticationMethod]
    /// It comes to know of requests by itself.
    let isRung: Bool
  }

  let isStarterUsable: Bool
  let settings: ApplicationSettings
  /// Nil for a user that the application does not have, or if the starter is refused whoever is asked.
  let user: AskedUser?
}

/// What a session is started with.
struct StartTerms: Sendable, Equatable {
  let user: Int64
  /// The strongest of what is asked for and what the phone can prove.
  let method: AuthenticationMethod
  /// Seconds.
  let duration: Int64
  /// Seconds.
  let answerTime: Int64
  let matchCode: Secret?
  let isRung: Bool
}

extension Session {
  fileprivate func isUnanswered(at now: UnixTime) -> Bool {
    var current = lifecycle
    current.settle(at: now)
    return current.isUnanswered
  }
}
