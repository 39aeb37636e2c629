import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

/// Watches all records: ⑧ asks the service, has ``SessionWatch`` decide, and ⑨ acts through logind.
///
/// Waits for nothing; ``turn(at:)`` does what is due. Times are milliseconds after boot.
public final class Supervisor {
  var setup: SupervisorSetup
  let ledger: SessionLedger
  let notes: WatchNotes
  let leaving: LeavingSessions
  let earlier: EarlierSessions
  let logind: any Logind
  let seat: any Seat
  var service: any SessionService
  let log: any HelperLog
  var pace = AskingPace()
  var records: [String: WatchedRecord] = [:]
  let agenda = RecordAgenda()
  /// The set of processes whose end matters may have changed.
  var processesChanged = true
  var questions: [SessionService.Ticket: String] = [:]
  var logouts: [SessionLogout] = []
  var massEnd = MassEndGuard()
  /// When pending ends are decided together.
  var verdictDue: Int64?
  var verdictBegan: Int64 = 0
  /// Questions about others, for the verdict.
  var probes: Set<SessionService.Ticket> = []
  var lastShout: Int64?
  var lastPutBackShout: Int64?
  /// When the log shouts again of what is left alone.
  var shoutDue: Int64?
  private var lastComplaint: Int64?
  private static let complaintTime: Int64 = 60_000
  /// Until a record that is undecided is looked at again, in ms.
  static let lookAgainTime: Int64 = 30_000
  /// When the service last gave an answer that counts; nil before the first.
  public private(set) var lastAnswer: Int64?
  /// What was left while no helper ran is looked at once.
  var hasTakenUp = false
  /// Files that are no records of ours; each is spoken of once.
  var leftOut: Set<String> = []

  /// logind may take 2 s for each, and the watchdog is told between turns only.
  private static let mostLogoutsATurn = 4

  public init(
    setup: SupervisorSetup, ledger: SessionLedger, notes: WatchNotes, leaving: LeavingSessions,
    earlier: EarlierSessions, logind: any Logind, seat: any Seat, service: any SessionService, log: any HelperLog
  ) {
    self.setup = setup
    self.ledger = ledger
    self.notes = notes
    self.leaving = leaving
    self.earlier = earlier
    self.logind = logind
    self.seat = seat
    self.service = service
    self.log = log
  }

  /// Does what is due.
  ///
  /// - Returns: when the next thing is due; nil where only news would bring any.
  public func turn(at now: Int64) -> Int64? {
    takeOutcomes(now)
    for watched in agenda.take(at: now) { attend(watched, now) }
    if let verdictDue, verdictDue <= now { judgeEnds(now) }
    if let shoutDue, shoutDue <= now { shoutAgain(now) }
    for logout in logouts.filter({ $0.due <= now }).prefix(Self.mostLogoutsATurn) {
      logout.step(logind, seat, log, now: now)
    }
    logouts.removeAll(where: \.isFinished)
    earlier.turn(service, log, now)
    return nextDue
  }

  /// Of all records that are known, asked about or not.
  public var recordCount: Int { records.count }

  /// Sessions that are asked about.
  public var watchedCount: Int {
    records.values.count { $0.closing == nil && $0.watch.map { !$0.isOver } ?? false }
  }

  private var nextDue: Int64? {
    [agenda.next, verdictDue, shoutDue, earlier.due, logouts.map(\.due).min()].compactMap { $0 }.min()
  }

  private func attend(_ watched: WatchedRecord, _ now: Int64) {
    if watched.closing != nil { return tellEnd(watched, now) }
    if let nextLook = watched.nextLook, nextLook <= now {
      watched.nextLook = nil
      place(watched, now)
      if watched.closing != nil { return tellEnd(watched, now) }
    }
    if let lock = watched.lock, lock.due <= now { look(at: lock, watched, now) }
    if let deadline = watched.watch?.deadline, deadline <= now {
      take(watched.watch?.next(.nothing, at: now) ?? .nothing, watched, now)
    }
    if let nextAsk = watched.nextAsk, nextAsk <= now { ask(watched, now) }
  }

  // MARK: Asking

  func ask(_ watched: WatchedRecord, _ now: Int64) {
    watched.nextAsk = nil
    guard watched.question == nil, watched.closing == nil, let watch = watched.watch, !watch.isOver else { return }
    guard let remote = watched.remote else { return couldNotAsk(watched, "its address is not the service's", now) }
    let ticket = service.askStatus(of: remote, mayHold: watched.mayHold)
    watched.question = ticket
    watched.askedAt = now
    questions[ticket] = watched.record.id
  }

  private func askMark(_ watched: WatchedRecord, _ now: Int64) {
    guard watched.question == nil, watched.closing == nil else { return }
    // Asked about the session itself again when this is answered.
    watched.nextAsk = nil
    let ticket = service.askMark()
    watched.question = ticket
    watched.askedAt = now
    questions[ticket] = watched.record.id
  }

  private func takeOutcomes(_ now: Int64) {
    for (ticket, outcome) in service.outcomes() {
      if earlier.took(ticket, outcome, pace, log, now) { continue }
      guard let id = questions.removeValue(forKey: ticket), let watched = records[id] else { continue }
      watched.question = nil
      switch outcome {
      case .answer(let answer, let mark): took(answer, mark, watched, now)
      case .mark(let mark): tookMark(mark, watched, now)
      case .endTold: forget(id, now)
      case .failed(let error): failed(error, watched, now)
      }
    }
  }

  private func tookMark(_ mark: ServiceMark?, _ watched: WatchedRecord, _ now: Int64) {
    watched.failures = 0
    watched.lastAnswer = now
    lastAnswer = now
    watched.nextAsk = now + pace.afterUnknown()
    let action = watched.watch?.next(.mark(mark), at: now) ?? .nothing
    lookForPutBack(watched, now)
    take(action, watched, now)
  }

  private func took(_ answer: SessionAnswer, _ mark: ServiceMark?, _ watched: WatchedRecord, _ now: Int64) {
    let wasAsked = watched.askedAt
    watched.failures = 0
    watched.lastAnswer = now
    lastAnswer = now
    let before = watched.watch?.status
    let action = watched.watch?.next(.answer(answer, mark: mark), at: now) ?? .nothing
    if case .status(let word, _, _) = answer, watched.watch?.isPutBack != true {
      if watched.watch?.isLeftAside == false { watched.remark = "" }
      callOff(watched, word == .active ? [.walkaway, .unreachable] : [.unreachable])
    }
    lookForPutBack(watched, now)
    schedule(after: answer, watched, hasChanged: watched.watch?.status != before, asked: wasAsked, now)
    take(action, watched, now, isVouchedFor: answer.isVouchedFor)
  }

  private func schedule(
    after answer: SessionAnswer, _ watched: WatchedRecord, hasChanged: Bool, asked: Int64, _ now: Int64
  ) {
    if watched.watch?.isLeftAside == true || watched.watch?.isPutBack == true {
      watched.nextAsk = AskingPace.afterLeavingAside(now)
      return
    }
    switch answer {
    case .status(_, held: true, _):
      let isProperlyHeld = hasChanged || now - asked >= AskingPace.leastHold
      // The service answers at once if something has changed meanwhile.
      watched.nextAsk = whenAskedTogether(isProperlyHeld ? now : now + AskingPace.leastHold)
    case .status(_, held: false, _):
      // Over a connection for many the next may be held; whether the service can is known only then.
      watched.nextAsk = watched.isFirstAnswer ? now : whenAskedTogether(now + pace.spread(AskingPace.polling))
    case .contradiction: watched.nextAsk = whenAskedTogether(now + pace.spread(AskingPace.polling))
    case .unknownSession: watched.nextAsk = now + pace.afterUnknown()
    }
    watched.isFirstAnswer = false
  }

  private func whenAskedTogether(_ time: Int64) -> Int64 { service.takesManyAtOnce ? AskingPace.onTick(time) : time }

  private func failed(_ error: ServiceError, _ watched: WatchedRecord, _ now: Int64) {
    guard watched.closing == nil else { return endNotTold(watched, error, now) }
    couldNotAsk(watched, error.explanation, now)
    if case .tooManyRequests(let seconds?) = error {
      watched.nextAsk = now + pace.spread(min(max(seconds, 5), 300) * 1_000)
    }
  }

  private func couldNotAsk(_ watched: WatchedRecord, _ why: String, _ now: Int64) {
    watched.failures += 1
    watched.isFirstAnswer = true
    watched.remark = why
    let action = watched.watch?.next(.unanswered, at: now) ?? .nothing
    watched.nextAsk = now + pace.afterFailure(watched.failures)
    if watched.failures == 1, now - (lastComplaint ?? -MassEndGuard.window) >= Self.complaintTime {
      lastComplaint = now
      log.write(LOG_WARNING, "cannot ask about \(watched.record.logName): \(why); others are not named for a minute")
    }
    take(action, watched, now)
  }

  // MARK: Deciding

  /// - Parameter isVouchedFor: the service's signed word says who ended it: no guard is asked.
  private func take(_ action: WatchAction, _ watched: WatchedRecord, _ now: Int64, isVouchedFor: Bool = false) {
    switch action {
    case .nothing: break
    case .warn(let milliseconds): warn(watched, milliseconds)
    case .warnOfExpiry(let milliseconds): warnOfExpiry(watched, milliseconds)
    case .askMark: askMark(watched, now)
    case .logout(let cause), .lock(let cause), .leaveOpen(let cause):
      guard cause == .ended || cause == .forgotten, !isVouchedFor, mustBeJudged(watched) else {
        // An outage resolves nothing.
        if cause != .unreachable { watched.watch?.takeUpAgain() }
        carryOut(action, watched, now)
        break
      }
      watched.pendingEnd = action
      beginVerdict(now)
    }
    writeNote(watched)
  }

  func carryOut(_ action: WatchAction, _ watched: WatchedRecord, _ now: Int64) {
    switch action {
    case .nothing, .warn, .warnOfExpiry, .askMark: break
    case .logout(let cause): logOut(watched, cause, now)
    case .lock(let cause):
      guard let binding = watched.record.binding else { return }
      watched.lock = ScreenLock(binding, uid: watched.record.uid, cause, now: now)
      dropTickets(watched)
    case .leaveOpen(let cause):
      watched.remark = cause.remark
      log.write(LOG_NOTICE, "left alone \(watched.record.logName) cause=\(cause.rawValue)")
    }
  }
}
