import IAMPASSProtocol

/// Decides whether a computer's request becomes a session, and if not, why. Pure: all stored data was read before.
enum StartPolicy {
  enum Decision: Sendable {
    case start(StartTerms)
    /// The same start was already taken, as this session. Its computer did not get the reply.
    case goOn(Session, isRung: Bool)
    case refuse(Obstacle)
  }

  /// Why a session is not started.
  enum Obstacle: Sendable {
    /// The credential was revoked after its signature was checked.
    case credentialRevoked
    /// The application does not have such a user.
    case unknownUser
    case reason(Reason)
    /// The phones have none of the methods, but their user could add one.
    case missingMethods([MissingMethods], user: Int64)
    /// This request is open, and counts the new one as held back.
    case openRequest(Session, user: Int64)
  }

  static func decide(_ request: SessionStartRequest, _ facts: StartFacts, at now: UnixTime) -> Decision {
    guard facts.isClientUsable else { return .refuse(.credentialRevoked) }
    guard !facts.settings.isDisabled else { return .refuse(.reason(.applicationDisabled)) }
    guard !facts.isComputerHeld else { return .refuse(.reason(.computerHeld)) }
    guard let user = facts.user else { return .refuse(.unknownUser) }
    if let begun = facts.begun {
      guard begun.isStart(request, of: user.id) else { return .refuse(.reason(.badRequest)) }
      return .goOn(begun, isRung: AskedPhones(user.phones, for: request.methods).areRung)
    }
    guard !user.phones.isEmpty else { return .refuse(.reason(.noMobileDevice)) }
    let asked = AskedPhones(user.phones, for: request.methods)
    guard asked.strongest != nil else {
      let missing = user.phones.compactMap {
        MissingMethods(request.methods, phone: $0.id, having: $0.methods, addable: $0.addable)
      }
      return .refuse(missing.isEmpty ? .reason(.methodNotAvailable) : .missingMethods(missing, user: user.id))
    }
    guard facts.settings.matchCodes != .required || request.hasContext else {
      return .refuse(.reason(.contextRequired))
    }
    guard facts.settings.matchCodes != .required || !request.context.isWithoutCode else {
      return .refuse(.reason(.codeRequired))
    }
    guard !user.isSourceBlocked else { return .refuse(.reason(.sourceBlocked)) }
    guard !user.hasTooManyDenials else { return .refuse(.reason(.tooManyDenials)) }
    let unanswered = user.unended.filter { $0.isUnanswered(at: now) }
    if let open = OpenRequestLimit.obstacle(to: request.source, among: unanswered) {
      return .refuse(.openRequest(open, user: user.id))
    }
    let showsCode = request.showsCode(under: facts.settings)
    guard !showsCode || user.freeCode != nil else {
      return .refuse(.reason(user.isCodeInUse ? .codeInUse : .tooManyRequests))
    }
    let all = user.locum.map { AskedPhones(user.phones + [$0.phone], for: request.methods) } ?? asked
    let locum = user.locum.flatMap { all.methods[$0.phone.id] == nil ? nil : $0.0 }
    return .start(
      StartTerms(
        user: user.id, method: all.strongest ?? .device,
        duration: min(request.duration, facts.settings.greatestDuration),
        answerTime: min(request.answerTime ?? .max, facts.settings.answerTime),
        matchCode: showsCode ? user.freeCode : nil,
        isRung: all.areRung, asked: user.phones.count > 1 || locum != nil ? all.methods : nil, locum: locum))
  }
}

/// The data for ``StartPolicy``, made from a ``StartRecord`` at one time.
struct StartFacts: Sendable {
  struct AskedUser: Sendable {
    let id: Int64
    /// The user's live phones, oldest first.
    let phones: [AskedPhone]
    /// The locum who may answer for the user, with their phone.
    var locum: (Locum, phone: AskedPhone)? = nil
    /// Whether the user has reported this source as somebody else.
    let isSourceBlocked: Bool
    let hasTooManyDenials: Bool
    /// The sessions that had not ended when they were last stored, oldest first.
    let unended: [Session]
    /// A match code that is not in use and was not until just now: the computer's, or a random one. Nil if too few are
    /// left, or if the computer's is not free.
    let freeCode: Secret?
    /// Whether the computer's code is not free, but another code may be.
    let isCodeInUse: Bool
  }

  struct AskedPhone: Sendable {
    let id: String
    /// The phone's methods, weakest first.
    let methods: [AuthenticationMethod]
    /// The methods that the phone's user can add.
    let addable: [AuthenticationMethod]
    /// Whether the phone gets to know of requests by itself.
    let isRung: Bool
  }

  let isClientUsable: Bool
  let settings: ApplicationSettings
  /// Whether the credential was used with two marks, and the application holds such computers.
  let isComputerHeld: Bool
  /// The user; nil if the application does not have the user, or if the client is refused for all users.
  let user: AskedUser?
  /// The session with the id ``SessionStartRequest/session``; nil if there is none.
  var begun: Session? = nil
}

/// What a session is started with.
struct StartTerms: Sendable, Equatable {
  let user: Int64
  /// The strongest accepted method that the phone can prove.
  let method: AuthenticationMethod
  /// The session's longest time in seconds.
  let duration: Int64
  /// How long the request waits for its answer, in seconds.
  let answerTime: Int64
  let matchCode: Secret?
  let isRung: Bool
  /// The phones that are asked, with what each must prove; nil if the user has one phone.
  var asked: [String: AuthenticationMethod]? = nil
  /// The administrator whose phone is one of them, in place of the user's own.
  var locum: Locum? = nil
}

/// The user's phones that have one of the accepted methods.
private struct AskedPhones {
  /// The methods, weakest first. Only an app vouches for a face.
  private static let strengths: [AuthenticationMethod] = [.acceptance, .facial, .device]

  /// The strongest method of each phone.
  let methods: [String: AuthenticationMethod]
  /// Whether at least one phone gets to know of requests by itself.
  let areRung: Bool

  init(_ phones: [StartFacts.AskedPhone], for asked: [AuthenticationMethod]) {
    let able = phones.compactMap { phone in phone.methods.last(where: asked.contains).map { (phone, $0) } }
    methods = Dictionary(able.map { ($0.0.id, $0.1) }) { first, _ in first }
    areRung = able.contains { $0.0.isRung }
  }

  /// The strongest of these methods; nil if no phone can be asked.
  var strongest: AuthenticationMethod? { Self.strengths.last(where: methods.values.contains) }
}

extension Session {
  /// Whether this session was made by the same start.
  fileprivate func isStart(_ request: SessionStartRequest, of user: Int64) -> Bool {
    id == request.session && application == request.signInClient.application.id
      && credential == request.signInClient.credential?.id
      && self.user == user && context == request.context && challenge == request.challenge
      && (request.matchCode == nil || matchCode == request.matchCode)
  }

  fileprivate func isUnanswered(at now: UnixTime) -> Bool {
    var current = lifecycle
    current.settle(at: now)
    return current.isUnanswered
  }
}
