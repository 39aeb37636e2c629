import IAMPASSProtocol

/// Whether what a computer asks for becomes a session, and if not, why. Pure: everything stored was gathered before.
enum StartPolicy {
  enum Decision: Sendable {
    case start(StartTerms)
    /// The same start was taken before, by this session, and its computer was not told.
    case goOn(Session, isRung: Bool)
    case refuse(Obstacle)
  }

  /// Why no session is started.
  enum Obstacle: Sendable {
    /// It was revoked since its signature was checked.
    case credentialRevoked
    /// The application does not have such a user.
    case unknownUser
    case reason(Reason)
    /// The phones have none of the methods, and their user could add one.
    case untrained([Training], user: Int64)
    /// This request is open, and counts the one that it holds back.
    case openRequest(Session, user: Int64)
  }

  static func decide(_ ask: StartAsk, _ facts: StartFacts, at now: UnixTime) -> Decision {
    guard facts.isStarterUsable else { return .refuse(.credentialRevoked) }
    guard !facts.settings.isDisabled else { return .refuse(.reason(.applicationDisabled)) }
    guard !facts.isComputerHeld else { return .refuse(.reason(.computerHeld)) }
    guard let user = facts.user else { return .refuse(.unknownUser) }
    if let begun = facts.begun {
      guard begun.isStart(ask, of: user.id) else { return .refuse(.reason(.badRequest)) }
      return .goOn(begun, isRung: AskedPhones(user.phones, for: ask.methods).areRung)
    }
    guard !user.phones.isEmpty else { return .refuse(.reason(.noMobileDevice)) }
    let asked = AskedPhones(user.phones, for: ask.methods)
    guard asked.strongest != nil else {
      let trainings = user.phones.compactMap {
        Training(ask.methods, phone: $0.id, having: $0.methods, addable: $0.addable)
      }
      return .refuse(trainings.isEmpty ? .reason(.methodNotAvailable) : .untrained(trainings, user: user.id))
    }
    guard facts.settings.matchCodes != .required || ask.hasContext else { return .refuse(.reason(.contextRequired)) }
    guard facts.settings.matchCodes != .required || !ask.context.isWithoutCode else {
      return .refuse(.reason(.codeRequired))
    }
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
    let all = user.locum.map { AskedPhones(user.phones + [$0.phone], for: ask.methods) } ?? asked
    let locum = user.locum.flatMap { all.methods[$0.phone.id] == nil ? nil : $0.0 }
    return .start(
      StartTerms(
        user: user.id, method: all.strongest ?? .device, duration: min(ask.duration, facts.settings.greatestDuration),
        answerTime: min(ask.answerTime ?? .max, facts.settings.answerTime), matchCode: showsCode ? user.freeCode : nil,
        isRung: all.areRung, asked: user.phones.count > 1 || locum != nil ? all.methods : nil, locum: locum))
  }
}

/// What is stored about the computer that asks and the user who is asked, in one consistent view.
struct StartFacts: Sendable {
  struct AskedUser: Sendable {
    let id: Int64
    /// The live ones, the oldest first.
    let phones: [AskedPhone]
    /// Who may answer for the user, with their phone.
    var locum: (Locum, phone: AskedPhone)? = nil
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
  /// Its credential was used with two marks, and the application holds such computers.
  let isComputerHeld: Bool
  /// Nil for a user that the application does not have, or if the starter is refused whoever is asked.
  let user: AskedUser?
  /// The session with the id ``StartAsk/session``; nil if there is none.
  var begun: Session? = nil
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
  /// The phones that are asked, with what each must prove; nil if the user has one phone.
  var asked: [String: AuthenticationMethod]? = nil
  /// Whose phone is one of them, in the place of the user's own.
  var locum: Locum? = nil
}

/// Those of a user's phones that have one of the methods that will do.
private struct AskedPhones {
  /// The weakest first: a face is an app's word.
  private static let strengths: [AuthenticationMethod] = [.acceptance, .facial, .device]

  /// The strongest of each.
  let methods: [String: AuthenticationMethod]
  /// At least one comes to know of requests by itself.
  let areRung: Bool

  init(_ phones: [StartFacts.AskedPhone], for asked: [AuthenticationMethod]) {
    let able = phones.compactMap { phone in phone.methods.last(where: asked.contains).map { (phone, $0) } }
    methods = Dictionary(able.map { ($0.0.id, $0.1) }) { first, _ in first }
    areRung = able.contains { $0.0.isRung }
  }

  /// Nil if no phone can be asked.
  var strongest: AuthenticationMethod? { Self.strengths.last(where: methods.values.contains) }
}

extension Session {
  /// Whether it is what this start made when it was sent before.
  fileprivate func isStart(_ ask: StartAsk, of user: Int64) -> Bool {
    id == ask.session && application == ask.starter.application.id && credential == ask.starter.credential?.id
      && self.user == user && context == ask.context && challenge == ask.challenge
      && (ask.matchCode == nil || matchCode == ask.matchCode)
  }

  fileprivate func isUnanswered(at now: UnixTime) -> Bool {
    var current = lifecycle
    current.settle(at: now)
    return current.isUnanswered
  }
}
