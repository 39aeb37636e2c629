import HostState
import IAMPASSClient
import IAMPASSProtocol

/// One watched session. It decides what happens to the session, and does nothing by itself.
///
/// All times are milliseconds after boot, suspended or not.
public struct SessionWatch: Sendable, Equatable {
  /// The helper counts from the record, and the service from the approval.
  static let expirySlack: Int64 = 60_000
  /// How long before its end a session is warned. Sessions shorter than twice this time are not warned.
  static let warningTime: Int64 = 600_000

  private var table: CauseTable
  /// When the requested time runs out.
  public let expiry: Int64
  private var warningAt: Int64

  public private(set) var status: SessionStatus?
  public private(set) var since: Int64
  public private(set) var awaySince: Int64?
  public private(set) var unansweredSince: Int64?
  /// The cause that was acted on, until the phone is back.
  public private(set) var handled: Cause?
  /// The action for ``handled`` is done, also after a restart. A logout is never done here: the session would be gone.
  private(set) var isDone = false
  /// The action for an outage is done. It is reset when the service answers.
  private(set) var isOutageHandled = false
  /// Since when the session is left alone, because too many sessions ended together; nil if it is not.
  public private(set) var leftAsideSince: Int64?
  public var isLeftAside: Bool { leftAsideSince != nil }
  /// The service holds its replies.
  public private(set) var isHeld = false
  private var forgotten = ForgottenAnswers()
  /// After a sleep, a restart, or a question without an answer that is believed, the service must answer before earlier
  /// knowledge is acted on: the phone may be back.
  private var mustHearFirst = false { didSet { if mustHearFirst { isAskedAgain = false } } }
  /// When the service last gave a status that is believed; nil before the first.
  private var heardAt: Int64?
  /// The phone's time to come back is over, and the service is asked whether it has. An earlier answer does not tell: a
  /// question that the service holds is silent for a minute, also if the service is out of reach meanwhile.
  private var isAskedAgain = false
  private(set) var hasWarned = false
  private var history: BelievedHistory
  /// The service's position in its history when it was last believed about this session; nil if it does not give one.
  public var mark: ServiceMark? { history.mark }
  /// The service was restored to an earlier state. Its answers do not end the session.
  public var isPutBack: Bool { history.isPutBack }

  /// - Parameters:
  ///   - mark: the service's position in its history when the session was approved.
  ///   - span: from when until when the session may last.
  ///   - canLock: the logind session has a screen to lock, and a person may sit in front of it.
  ///   - isGraphicalAtSeat: the logind session has a screen at a seat of this computer.
  ///   - endsAtExpiry: a session that cannot lock is logged out when its time is over. The computer's clock decides if
  ///     the service does not say so.
  public init(
    policy: WatchPolicy, canLock: Bool, isGraphicalAtSeat: Bool, span: Range<Int64>, endsAtExpiry: Bool,
    mark: ServiceMark? = nil, note: WatchNote?, now: Int64
  ) {
    table = CauseTable(
      policy: policy, canLock: canLock, isGraphicalAtSeat: isGraphicalAtSeat, endsAtExpiry: endsAtExpiry)
    history = BelievedHistory(mark: note?.mark ?? mark)
    expiry = span.upperBound
    warningAt = span.upperBound - min(Self.warningTime, (span.upperBound - span.lowerBound) / 2)
    hasWarned = note?.hasWarned ?? false
    status = note?.status
    since = (note?.since).map { $0 * 1_000 } ?? now
    awaySince = (note?.awaySince).map { $0 * 1_000 }
    // The time without a helper does not count as an outage.
    unansweredSince = note?.unansweredSince == nil ? nil : now
    leftAsideSince = (note?.leftAsideSince).map { $0 * 1_000 }
    // What was known before a restart is old: the service must answer first.
    mustHearFirst = true
    takeUp(note?.handled.flatMap(Cause.init(rawValue:)))
  }

  /// Takes the cause that was acted on before a restart. Its action is not repeated, unless it is a logout now.
  private mutating func takeUp(_ cause: Cause?) {
    guard let cause else { return }
    if case .logout = table.action(for: cause) { return }
    if cause == .unreachable {
      isOutageHandled = true
    } else {
      handled = cause
      isDone = true
    }
  }

  /// Whether there is nothing more to ask or decide.
  public var isOver: Bool {
    switch handled {
    case .ended, .forgotten, .expired: true
    case .walkaway, .unreachable, .administrator, .presence, .presenceUnknown, nil: false
    }
  }

  /// Whether there is a screen to lock.
  var canLock: Bool { table.canLock }

  /// Takes whether there is a screen now: logind's session may get one, or lose it, while it is watched.
  mutating func takeScreen(canLock: Bool, isGraphicalAtSeat: Bool) {
    table.canLock = canLock
    table.isGraphicalAtSeat = isGraphicalAtSeat
  }

  /// The action for the cause of an action that was decided before the screen was read again.
  mutating func decidedAgain(_ action: WatchAction) -> WatchAction {
    guard let cause = action.cause else { return action }
    let renewed = table.action(for: cause)
    if handled == cause { isDone = renewed == .leaveOpen(cause) }
    return renewed
  }

  /// Whether the service's last answer was that the session ended or is not known.
  public var isDoubted: Bool { isPutBack || forgotten.since != nil || status.map { !$0.isLive } ?? false }

  /// When the next decision by time alone is due; nil if there is none.
  public var deadline: Int64? {
    guard !isOver else { return nil }
    return [awayEnd, silentEnd, warningTime, ownExpiry].compactMap { $0 }.min()
  }

  private var awayEnd: Int64? {
    handled == nil && !mustHearFirst && !isAskedAgain ? awaySince.map { $0 + table.policy.walkawayGrace } : nil
  }

  private var silentEnd: Int64? { isOutageHandled ? nil : unansweredSince.map { $0 + table.policy.unreachableGrace } }

  /// Only a user who will be logged out is warned: a lock loses no work.
  private var warningTime: Int64? {
    !hasWarned && table.endsAtExpiry && table.action(for: .expired) == .logout(.expired) ? warningAt : nil
  }

  /// When the session's time is over, whatever the service says or if it is silent.
  private var ownExpiry: Int64? {
    table.endsAtExpiry && table.action(for: .expired) != .leaveOpen(.expired) ? expiry + Self.expirySlack : nil
  }

  /// The next action after an event.
  public mutating func next(_ event: WatchEvent, at now: Int64) -> WatchAction {
    guard !isOver else { return .nothing }
    switch event {
    case .resumed:
      mustHearFirst = true
      isHeld = false
      if unansweredSince != nil { unansweredSince = now }
      return .nothing
    case .nothing: return actionOfTime(now)
    case .unanswered, .answer(.contradiction, _): return couldNotAsk(now)
    case .answer(.unknownSession, _): return unknown(now)
    case .answer(.status(let word, let held, _), let mark):
      isHeld = held
      guard history.believes(word, mark) else { return wasPutBack(saysItIsOver: !word.isLive, now) }
      return answered(word, now)
    case .mark(let mark): return heardMark(mark, now)
    case .withdrawn: return act(.ended)
    }
  }

  private mutating func wasPutBack(saysItIsOver: Bool, _ now: Int64) -> WatchAction {
    history.isPutBack = true
    isHeld = false
    mustHearFirst = true
    // The service answers.
    unansweredSince = nil
    // The session's time is over, whatever the service remembers.
    guard saysItIsOver, now >= expiry - Self.expirySlack, table.action(for: .expired) != .leaveOpen(.expired) else {
      return .nothing
    }
    return act(.expired)
  }

  private mutating func heardMark(_ new: ServiceMark?, _ now: Int64) -> WatchAction {
    // The session may have been known again in between.
    guard forgotten.areEnough(at: now), let known = mark else { return .nothing }
    guard let new, new.continues(known) else { return wasPutBack(saysItIsOver: true, now) }
    history.isPutBack = false
    return over(.forgotten, now)
  }

  private mutating func answered(_ word: SessionStatus, _ now: Int64) -> WatchAction {
    switch word {
    // An approved session cannot have this status, so the service is not working correctly.
    case .pending, .identifying: return couldNotAsk(now)
    case .active:
      hear(word, now)
      awaySince = nil
      handled = nil
      isDone = false
      leftAsideSince = nil
      return .nothing
    case .walkaway:
      hear(word, now)
      leftAsideSince = nil
      return left(now)
    case .timeout, .closed, .failed, .cancelled, .unknown:
      hear(word, now)
      return over(.ended, now)
    }
  }

  private mutating func left(_ now: Int64) -> WatchAction {
    let isNews = awaySince == nil
    if isNews { awaySince = now }
    let action = actionOfTime(now)
    guard isNews, action == .nothing, handled == nil, table.policy.onWalkaway != .ignore else { return action }
    return .warn(milliseconds: table.policy.walkawayGrace)
  }

  private mutating func unknown(_ now: Int64) -> WatchAction {
    isHeld = false
    mustHearFirst = true
    // Such an answer is not signed. A service that gives its position counts as reachable only once it gives it again.
    // Otherwise a man in the middle could hide an outage.
    unansweredSince = mark == nil ? nil : unansweredSince ?? now
    forgotten.add(at: now)
    guard forgotten.areEnough(at: now) else { return .nothing }
    return mark == nil ? over(.forgotten, now) : .askMark
  }

  private mutating func couldNotAsk(_ now: Int64) -> WatchAction {
    isHeld = false
    mustHearFirst = true
    if unansweredSince == nil { unansweredSince = now }
    return actionOfTime(now)
  }

  private mutating func hear(_ word: SessionStatus, _ now: Int64) {
    mustHearFirst = false
    heardAt = now
    isAskedAgain = false
    unansweredSince = nil
    forgotten = ForgottenAnswers()
    isOutageHandled = false
    guard status != word else { return }
    status = word
    since = now
  }

  /// The action after a deadline has passed.
  private mutating func actionOfTime(_ now: Int64) -> WatchAction {
    guard let deadline, now >= deadline else { return .nothing }
    if let ownExpiry, now >= ownExpiry { return act(.expired) }
    if let awayEnd, now >= awayEnd {
      if let heardAt, heardAt >= awayEnd { return act(.walkaway) }
      isAskedAgain = true
      isHeld = false
      return .askAgain
    }
    if let silentEnd, now >= silentEnd {
      isOutageHandled = true
      return table.action(for: .unreachable)
    }
    hasWarned = true
    return .warnOfExpiry(milliseconds: max(0, expiry - now))
  }

  private mutating func over(_ cause: Cause, _ now: Int64) -> WatchAction {
    guard now >= expiry - Self.expirySlack else { return act(cause) }
    // If many sessions end at once, ``EndJudge`` leaves ends aside and judges them again, by their causes. Time that is
    // over as well must not make it a session that stays open.
    guard isLeftAside, table.action(for: .expired) == .leaveOpen(.expired) else { return act(.expired) }
    return act(cause)
  }

  private mutating func act(_ cause: Cause) -> WatchAction {
    handled = cause
    let action = table.action(for: cause)
    if action == .leaveOpen(cause) { isDone = true }
    return action
  }

  /// The warning before the session's end could not be shown. It comes later, if the session has not ended by then.
  public mutating func warnLater(at time: Int64) {
    hasWarned = false
    warningAt = time
  }

  /// The lock that was decided has come, or was given up.
  public mutating func lockIsSettled() { isDone = handled != nil }

  /// The action for this cause was called off before it was done. It is decided again.
  public mutating func wasCalledOff(_ cause: Cause) {
    if cause == .unreachable { isOutageHandled = false }
    if handled == cause { handled = nil }
  }

  /// Leaves the end alone, because a service that has lost its data ends all sessions. The service is asked again. If
  /// it answers that the session is alive, the session is watched as before. If it answers that the session is over,
  /// that is judged again.
  public mutating func leaveAside(at now: Int64) {
    handled = nil
    isDone = false
    leftAsideSince = leftAsideSince ?? now
    // A service that has lost the session cannot say that its phone is back.
    mustHearFirst = true
  }

  /// Acts on the end after all.
  public mutating func takeUpAgain() { leftAsideSince = nil }
}
