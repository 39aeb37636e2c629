import DeviceProtocol
import IAMPASSProtocol

/// The states of a service session, from the request to its end. Pure: time is an argument, and nothing is stored here.
///
/// `pending → identifying → active → walkaway ⇄ active → closed`; `timeout` if unanswered, `cancelled` if denied,
/// `failed` if the phone does not support the required method.
public struct SessionLifecycle: Sendable, Equatable {
  /// How long a request waits for its answer, in seconds.
  public static let answerTime = ApplicationSettings.usualAnswerTime
  /// How long an approval waits for its client to fetch it, in seconds: the client may have gone without saying so.
  public static let collectionTime: Int64 = 30
  /// The longest time of a session if its client does not set one, in seconds. The published service has the same.
  public static let usualDuration: Int64 = 3_600
  /// The valid durations in seconds.
  public static let durations: ClosedRange<Int64> = 1...ApplicationSettings.longestDuration

  /// Why a session ended: the status reply's `reason`.
  public enum Ending: String, Sendable, CaseIterable {
    case denied = "DENIED"
    /// The user has denied it, and says that it was somebody else.
    case notMe = "NOT_ME"
    /// It was approved with digits that the terminal does not show, which counts as a denial.
    case wrongCode = "WRONG_CODE"
    /// The phone does not support the required method.
    case unable = "METHOD_NOT_AVAILABLE"
    case notAnswered = "NOT_ANSWERED"
    case notCollected = "NOT_COLLECTED"
    case loggedOut = "LOGGED_OUT"
    case endedOnPhone = "ENDED_ON_PHONE"
    case expired = "EXPIRED"
    case userDeleted = "USER_DELETED"
    case phoneLost = "PHONE_LOST"
    case phoneUnregistered = "PHONE_UNREGISTERED"
    case credentialRevoked = "CREDENTIAL_REVOKED"
    case applicationDisabled = "APPLICATION_DISABLED"
    /// The session's computer was restarted.
    case computerRestarted = "COMPUTER_RESTARTED"

    /// Whether it is an answer of the phone other than an approval.
    var isAnswer: Bool {
      switch self {
      case .denied, .notMe, .wrongCode, .unable: true
      case .notAnswered, .notCollected, .loggedOut, .endedOnPhone, .expired, .userDeleted, .phoneLost,
        .phoneUnregistered, .credentialRevoked, .applicationDisabled, .computerRestarted:
        false
      }
    }
  }

  /// The result of an answer.
  public enum AnswerOutcome: Sendable, Equatable {
    case taken
    case alreadyAnswered
    /// The request had already ended: it timed out, or its client gave up.
    case tooLate
  }

  public private(set) var status: SessionStatus
  public private(set) var ending: Ending?
  public let startedAt: UnixTime
  /// The session's longest time in seconds, from the approval on.
  public let duration: Int64
  /// How long the request waits for its answer, in seconds.
  public let answerTime: Int64
  public private(set) var approvedAt: UnixTime?
  public private(set) var collectedAt: UnixTime?
  public private(set) var endedAt: UnixTime?

  /// Makes a new request.
  public init(startedAt: UnixTime, duration: Int64 = usualDuration, answerTime: Int64 = answerTime) {
    self.init(status: .pending, ending: nil, startedAt: startedAt, duration: duration, answerTime: answerTime)
  }

  /// Makes it from stored values.
  init(
    status: SessionStatus, ending: Ending?, startedAt: UnixTime, duration: Int64, answerTime: Int64 = answerTime,
    approvedAt: UnixTime? = nil, collectedAt: UnixTime? = nil, endedAt: UnixTime? = nil
  ) {
    self.status = status
    self.ending = ending
    self.startedAt = startedAt
    self.duration = duration
    self.answerTime = answerTime
    self.approvedAt = approvedAt
    self.collectedAt = collectedAt
    self.endedAt = endedAt
  }

  public var isUnanswered: Bool { status == .pending || status == .identifying }
  public var isApproved: Bool { status == .active || status == .walkaway }
  /// Whether it was approved, but the client has not fetched that yet.
  public var isUncollected: Bool { isApproved && collectedAt == nil }

  public var answerDeadline: UnixTime { startedAt.advanced(seconds: answerTime) }
  public var expiry: UnixTime? { approvedAt?.advanced(seconds: duration) }

  /// When time alone ends this session; nil once it has ended.
  public var deadline: UnixTime? {
    if isUnanswered { return answerDeadline }
    guard isApproved, let approvedAt, let expiry else { return nil }
    return collectedAt == nil ? min(expiry, approvedAt.advanced(seconds: Self.collectionTime)) : expiry
  }

  /// Ends the session if its time is over. Call it before any other step.
  public mutating func settle(at now: UnixTime) {
    guard let deadline, now >= deadline else { return }
    if isUnanswered {
      end(.timeout, .notAnswered, at: deadline)
    } else {
      end(.closed, deadline == expiry ? .expired : .notCollected, at: deadline)
    }
  }

  /// Notes that the phone shows the request.
  public mutating func seen(at now: UnixTime) {
    settle(at: now)
    if status == .pending { status = .identifying }
  }

  /// The result that an answer would have.
  public func prospect(at now: UnixTime) -> AnswerOutcome {
    var settled = self
    settled.settle(at: now)
    if settled.isUnanswered { return .taken }
    return approvedAt != nil || ending?.isAnswer == true ? .alreadyAnswered : .tooLate
  }

  /// Takes the phone's answer. An approval with a wrong code is a denial.
  public mutating func answer(
    _ answer: DeviceAnswer, isCodeRight: Bool = true, at now: UnixTime
  ) -> AnswerOutcome {
    settle(at: now)
    guard isUnanswered else { return prospect(at: now) }
    switch answer {
    case .approve where !isCodeRight: end(.cancelled, .wrongCode, at: now)
    case .approve:
      status = .active
      approvedAt = now
    case .deny: end(.cancelled, .denied, at: now)
    case .notMe: end(.cancelled, .notMe, at: now)
    case .unable: end(.failed, .unable, at: now)
    }
    return .taken
  }

  /// Notes that the client fetches the status.
  public mutating func collect(at now: UnixTime) {
    settle(at: now)
    if isUncollected { collectedAt = now }
  }

  /// Notes that the phone leaves.
  public mutating func leave(at now: UnixTime) {
    settle(at: now)
    if status == .active { status = .walkaway }
  }

  /// Notes that the phone comes back.
  public mutating func comeBack(at now: UnixTime) {
    settle(at: now)
    if status == .walkaway { status = .active }
  }

  /// Ends a live session, because of a logout or because its user or phone is gone. A second call changes nothing.
  public mutating func close(_ ending: Ending, at now: UnixTime) {
    settle(at: now)
    if status.isLive { end(.closed, ending, at: now) }
  }

  private mutating func end(_ status: SessionStatus, _ ending: Ending, at time: UnixTime) {
    self.status = status
    self.ending = ending
    endedAt = time
  }
}
