import DeviceProtocol
import IAMPASSProtocol

/// The operations of phones after their registration: requests, presence, ends of sessions, messages.
///
/// An operation has no effect, and returns so, unless the phone is still its user's live one in the same transaction.
protocol PhoneStore: Sendable {
  /// The phone with this id, even if it was revoked; nil if there is none.
  func phone(_ id: String) async throws -> Phone?

  /// Notes that the phone's page has asked for its stream. A power cut may undo this, but the page then asks again.
  func markPage(of phone: String) async throws

  /// Notes that the phone's page is visible. It has no effect if the phone was revoked. A power cut may undo this.
  func notePageView(of phone: ActingPhone, at now: UnixTime) async throws

  /// The requests that may wait for the phone's answer; nil if the phone was revoked.
  func requests(for phone: ActingPhone, at now: UnixTime) async throws -> PhoneRequests?

  /// The data that a phone shows of its user.
  func account(of phone: ActingPhone, at now: UnixTime) async throws -> PhoneAccount

  /// All that an open page shows, as of one moment; nil if the phone was revoked. Thousands of pages ask for it.
  func pageState(of phone: ActingPhone, at now: UnixTime) async throws -> PageState?

  /// Stores whether the phone is present. Sessions that it has approved come back with it. They leave with it if the
  /// application's settings say so: see ``Session/follows(_:among:)``.
  ///
  /// - Returns: the changed sessions; nil if the phone was revoked.
  func setPresence(_ presence: Presence, of phone: ActingPhone, at now: UnixTime) async throws -> [Session]?

  /// Ends these sessions of the phone's user, all or none.
  func endSessions(_ ids: Set<String>, by phone: ActingPhone, at now: UnixTime) async throws -> EndByPhone

  /// Revokes the phone and unused links for its user. Its unanswered requests are closed, and sessions that it has
  /// approved go on.
  ///
  /// - Returns: the sessions that this closed; nil if the phone was revoked before.
  func unregister(_ phone: ActingPhone, at now: UnixTime) async throws -> [Session]?

  /// Stores an authenticator's credential for the phone, in place of an earlier one, unless `refusal` has a reason.
  ///
  /// - Parameter pinMAC: replaces the phone's former MAC, which does not cover this credential.
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

  /// The service's own key for push messages, which is made once.
  func pushToken() async throws -> PushToken

  /// How to ring the user's live phones. Phones that cannot be rung are left out, such as an app without settings for
  /// its service.
  func pushTargets(of user: Int64) async throws -> [PushTarget]

  /// Stores how to ring the phone; nil: not at all.
  ///
  /// - Returns: false, without effect, if the phone was revoked.
  func keepPush(_ way: PushWay?, of phone: ActingPhone, at now: UnixTime) async throws -> Bool

  /// Removes the way to ring the phone, unless the phone has since sent another way, or the same token again.
  func forget(_ target: PushTarget) async throws

  // MARK: Silence

  /// Whether the phone was silent; nil if that does not count and need not be stored.
  ///
  /// - Parameter isAsking: whether the phone asks for its requests, which begins the counting.
  func wasSilent(_ phone: Phone, isAsking: Bool) async throws -> Bool?

  /// Notes that the phone is there. Its sessions come back if they left because of its silence.
  ///
  /// - Parameter wasSilent: if it is false, a power cut may undo this.
  /// - Returns: the changed sessions.
  func markSeen(_ phone: Phone, wasSilent: Bool, at now: UnixTime) async throws -> [Session]

  /// Makes the sessions of phones that were silent for too long leave in one step, the longest silent first: see
  /// ``PresenceBySilence``.
  ///
  /// - Parameters:
  ///   - last: the last look of this process. If it has not credited all phones yet, the next ones are credited.
  ///   - limit: the most phones that leave.
  func leaveForSilence(
    since last: PresenceBySilence.Check?, at now: UnixTime, limit: Int
  ) async throws -> SilencePortion
}

/// A portion of the phones that were silent for too long.
struct SilencePortion: Sendable {
  /// The look that found them. It is the last look of the next portion.
  let check: PresenceBySilence.Check
  /// The sessions that this changed.
  let moved: [Session]
  /// Whether there are no further silent phones.
  let isLast: Bool
}

/// A user's requests that their phone may show.
struct PhoneRequests: Sendable {
  /// The user's sessions that had not ended when they were last stored, oldest first.
  let unended: [Session]
  /// The id of the phone's credential; nil if it has none.
  let credential: String?
  /// Methods that a computer requires and the phone lacks.
  let missingMethods: [AuthenticationMethod]
  /// Uses of the user's codes that the phone shows, newest first.
  let codeUses: [CodeUse]
  /// Requests that another phone of the user has recently answered.
  let elsewhere: [AnswerElsewhere]
  /// The ids of the user's sessions that cannot be read, and so are not shown.
  let unreadable: [String]
}

/// A request that another phone of the user has answered.
struct AnswerElsewhere: Sendable {
  /// How long the other phones show it, in seconds.
  static let lifetime: Int64 = 60

  let session: Session
  /// The ``Phone/label`` of the phone that answered.
  let phone: String

  /// Nil unless another phone than this one has recently answered it.
  init?(_ session: Session, by answering: Phone, than phone: ActingPhone, at now: UnixTime) {
    let lifecycle = session.lifecycle
    guard answering.id != phone.id, let at = lifecycle.approvedAt ?? lifecycle.endedAt,
      now.milliseconds(since: at) < Self.lifetime * 1_000
    else { return nil }
    self.session = session
    self.phone = answering.label
  }

  /// Sessions that began before this time are not read.
  static func start(at now: UnixTime) -> UnixTime {
    now.advanced(seconds: -(ApplicationSettings.answerTimes.upperBound + lifetime))
  }
}

/// The data that a phone shows of its user.
struct PhoneAccount: Sendable {
  /// The application's name.
  let application: String
  /// The user's sessions that had not ended when they were last stored, oldest first.
  let unended: [Session]
  /// The phone's methods, weakest first.
  let methods: [AuthenticationMethod]
  /// Whether sessions leave with their phone.
  let walksAway: Bool
  /// Methods that a computer requires and the phone lacks.
  let missingMethods: [AuthenticationMethod]
  /// Uses of the user's codes that the phone shows, newest first.
  let codeUses: [CodeUse]
  /// The user's live phones, oldest first.
  let phones: [Phone]
  /// Requests that locums recently approved for the user, oldest first.
  let byLocums: [LocumApproval]
}

/// All that an open page shows.
struct PageState: Sendable {
  /// The phone as it is stored now.
  let phone: Phone
  let requests: PhoneRequests
  let account: PhoneAccount
}

/// The result of a phone's request to end sessions.
enum EndByPhone: Sendable {
  /// Has the sessions that this ended. The others had ended before.
  case ended([Session])
  case cutOff
  /// At least one session is unknown, or another user's.
  case unknownSession
}

/// How to ring a phone.
struct PushTarget: Sendable {
  enum Way: Sendable {
    /// A browser, with the service's own token.
    case browser(PushSubscription, PushToken)
    /// An app, with the settings of its user's application.
    case app(AppToken, NotificationSettings)
  }

  let phone: String
  let way: Way
}

extension Presence {
  /// Whether sessions follow this change of presence. A phone that returns brings its sessions back, even if the
  /// setting was switched off meanwhile.
  func movesSessions(under settings: ApplicationSettings) -> Bool { settings.walkaway || self == .present }
}

extension Session {
  /// Makes the session leave or come back with the phone. Returns whether the status changed.
  mutating func move(to presence: Presence, at now: UnixTime) -> Bool {
    let before = lifecycle.status
    switch presence {
    case .away: lifecycle.leave(at: now)
    case .present: lifecycle.comeBack(at: now)
    }
    return lifecycle.status != before
  }
}
