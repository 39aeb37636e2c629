import DeviceProtocol
import IAMPASSProtocol

/// What phones do after their registration: see requests, come and go, end sessions, take messages.
///
/// What a phone asks for has no effect, and says so, unless the phone is still its user's live one in the same step.
protocol PhoneStore: Sendable {
  /// The phone with this id, cut off or not; nil if there is none.
  func phone(_ id: String) async throws -> Phone?

  /// The phone's page has asked for its stream. It is asked for again after a power cut: that may undo this.
  func markPage(of phone: String) async throws

  /// The phone's page is in view; without effect if the phone was cut off. A power cut may undo this.
  func noteLook(of phone: ActingPhone, at now: UnixTime) async throws

  /// What may wait for the phone's answer; nil if the phone was cut off.
  func requests(for phone: ActingPhone, at now: UnixTime) async throws -> PhoneRequests?

  /// What a phone shows of its user.
  func account(of phone: ActingPhone, at now: UnixTime) async throws -> PhoneAccount

  /// Stores whether the phone is present. The sessions that it approved come back with it, and leave with it if the
  /// application lets sessions walk away: see ``Session/follows(_:among:)``.
  ///
  /// - Returns: the sessions that moved; nil if the phone was cut off.
  func setPresence(_ presence: Presence, of phone: ActingPhone, at now: UnixTime) async throws -> [Session]?

  /// Ends these sessions of the phone's user: all, or none.
  func endSessions(_ ids: Set<String>, by phone: ActingPhone, at now: UnixTime) async throws -> EndByPhone

  /// Cuts the phone off for its user, with unused links. Requests that it has not answered are closed; sessions that it
  /// approved go on.
  ///
  /// - Returns: the sessions that this closed; nil if the phone was cut off before.
  func unregister(_ phone: ActingPhone, at now: UnixTime) async throws -> [Session]?

  /// Stores an authenticator's credential as the phone's, in the place of another, unless `refusal` has a reason.
  ///
  /// - Parameter pinMAC: takes the place of the phone's former one, which does not cover this credential.
  func keepCredential(
    _ credential: VerifiedCredential, pinMAC: String?, of phone: ActingPhone, at now: UnixTime,
    unless refusal: @escaping @Sendable (PhoneFacts) throws -> Refusal?
  ) async throws -> Refusal?

  /// Stores whether the phone's app vouches for its user's face, unless `refusal` has a reason.
  func keepFace(
    _ isOffered: Bool, of phone: ActingPhone, at now: UnixTime,
    unless refusal: @escaping @Sendable (PhoneFacts) throws -> Refusal?
  ) async throws -> Refusal?

  // MARK: Push messages

  /// The service's own key for push messages, made once and for all.
  func pushToken() async throws -> PushToken

  /// How the user's live phones are rung, without those that cannot be, as an app without settings for its service.
  func bells(of user: Int64) async throws -> [PhoneBell]

  /// How the phone is rung from now on; nil: not at all.
  ///
  /// - Returns: false, without effect, if the phone was cut off.
  func keepPush(_ way: PushWay?, of phone: ActingPhone, at now: UnixTime) async throws -> Bool

  /// Forgets how the phone is rung, unless the phone has told of another way since, or of the same token again.
  func forget(_ bell: PhoneBell) async throws

  // MARK: Silence

  /// Whether the phone was silent; nil if that does not count, so that nothing is to be stored.
  ///
  /// - Parameter isAsking: the phone asks for its requests, with which counting begins.
  func wasSilent(_ phone: Phone, isAsking: Bool) async throws -> Bool?

  /// The phone is there. The sessions that it approved come back if they left because of its silence.
  ///
  /// - Parameter wasSilent: false: a power cut may undo this.
  /// - Returns: the sessions that moved.
  func hear(_ phone: Phone, wasSilent: Bool, at now: UnixTime) async throws -> [Session]

  /// Lets the sessions of phones leave that were silent for too long: see ``PresenceBySilence``.
  ///
  /// - Parameter last: the last look of this process.
  /// - Returns: this look, and the sessions that moved.
  func leaveForSilence(
    since last: PresenceBySilence.Look?, at now: UnixTime
  ) async throws -> (look: PresenceBySilence.Look, moved: [Session])
}

/// A user's requests, as their phone may be shown them.
struct PhoneRequests: Sendable {
  /// The user's sessions that had not ended when last stored, the oldest first.
  let unended: [Session]
  /// The id of the phone's credential; nil if it has none.
  let credential: String?
  /// Methods that a computer asked for and the phone lacks.
  let training: [AuthenticationMethod]
  /// Uses of the user's codes that the phone is shown, the newest first.
  let codeUses: [CodeUse]
  /// Requests that another phone of the user has answered a moment ago.
  let elsewhere: [AnswerElsewhere]
}

/// A request that another phone of the user has answered.
struct AnswerElsewhere: Sendable {
  /// How long the other phones are told of it, in seconds.
  static let lifetime: Int64 = 60

  let session: Session
  /// ``Phone/label`` of the one that answered.
  let phone: String

  /// Nil unless it was answered a moment ago, by another phone than this one.
  init?(_ session: Session, by answering: Phone, than phone: ActingPhone, at now: UnixTime) {
    let lifecycle = session.lifecycle
    guard answering.id != phone.id, let at = lifecycle.approvedAt ?? lifecycle.endedAt,
      now.milliseconds(since: at) < Self.lifetime * 1_000
    else { return nil }
    self.session = session
    self.phone = answering.label
  }

  /// Sessions that began before it are not looked at.
  static func start(at now: UnixTime) -> UnixTime {
    now.advanced(seconds: -(ApplicationSettings.answerTimes.upperBound + lifetime))
  }
}

/// What a phone shows of its user.
struct PhoneAccount: Sendable {
  /// The application's name.
  let application: String
  /// The user's sessions that had not ended when last stored, the oldest first.
  let unended: [Session]
  /// The phone's, the weakest first.
  let methods: [AuthenticationMethod]
  /// Sessions leave with their phone.
  let walksAway: Bool
  /// Methods that a computer asked for and the phone lacks.
  let training: [AuthenticationMethod]
  /// Uses of the user's codes that the phone is shown, the newest first.
  let codeUses: [CodeUse]
  /// The user's live phones, the oldest first.
  let phones: [Phone]
  /// What locums approved for the user lately, the oldest first.
  let byLocums: [LocumApproval]
}

/// What became of a phone's wish to end sessions.
enum EndByPhone: Sendable {
  /// With the sessions that this ended. Others of them had ended before.
  case ended([Session])
  case cutOff
  /// At least one session is unknown, or another user's.
  case unknownSession
}

/// How a phone is rung.
struct PhoneBell: Sendable {
  enum Way: Sendable {
    /// With the service's own token.
    case browser(PushSubscription, PushToken)
    /// By the settings of its user's application.
    case app(AppToken, NotificationSettings)
  }

  let phone: String
  let way: Way
}

extension Presence {
  /// Whether sessions follow a phone that becomes so. A phone that returns brings its sessions back, even if walking away
  /// was switched off meanwhile.
  func movesSessions(under settings: ApplicationSettings) -> Bool { settings.walkaway || self == .present }
}

extension Session {
  /// Leaves with the phone, or comes back with it. Returns whether that changed the status.
  mutating func move(to presence: Presence, at now: UnixTime) -> Bool {
    let before = lifecycle.status
    switch presence {
    case .away: lifecycle.leave(at: now)
    case .present: lifecycle.comeBack(at: now)
    }
    return lifecycle.status != before
  }
}
