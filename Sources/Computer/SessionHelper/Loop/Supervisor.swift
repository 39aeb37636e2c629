import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

/// Watches all records. It asks the service (⑧), ``SessionWatch`` and ``EndJudge`` decide, and ``SessionActs`` acts
/// through logind (⑨).
///
/// It does not wait: ``turn(at:)`` does what is due. Times are milliseconds after boot.
public final class Supervisor {
  var setup: SupervisorSetup
  let records: WatchedRecords
  let inquiries: SessionInquiries
  let judge: EndJudge
  let acts: SessionActs
  let earlier: EarlierSessions
  /// Nil: sign-ins without the service are not reported.
  let reports: CodeReports?
  let users: UserListKeeper
  let logind: any Logind
  let seat: any Seat
  let log: any HelperLog
  /// A signed list was kept, or there is a session that was not compared with it.
  var mustCompare = true
  /// Whether the records that were left while no helper ran have been read.
  var hasTakenUp = false

  public init(
    setup: SupervisorSetup, ledger: SessionLedger, notes: WatchNotes, leaving: LeavingSessions,
    earlier: EarlierSessions, away: AwayLocks, logind: any Logind, seat: any Seat, service: any SessionService,
    log: any HelperLog, reports: CodeReports? = nil
  ) {
    self.setup = setup
    records = WatchedRecords(ledger: ledger, notes: notes, log: log)
    inquiries = SessionInquiries(service, log: log)
    judge = EndJudge(records: records, inquiries: inquiries, log: log)
    acts = SessionActs(
      setup: setup, records: records, leaving: leaving, away: away, logind: logind, seat: seat, log: log)
    self.earlier = earlier
    self.reports = reports
    users = UserListKeeper(log: log)
    self.logind = logind
    self.seat = seat
    self.log = log
  }

  /// Does what is due.
  ///
  /// - Returns: when the next step is due; nil if only an event can make one due.
  public func turn(at now: Int64) -> Int64? {
    takeOutcomes(now)
    for watched in records.takeDue(at: now) { attend(watched, now) }
    judge.turn(now) { action, watched in acts.carryOut(action, watched, now) }
    acts.turn(now)
    earlier.turn(inquiries.service, log, now)
    users.turn(inquiries.service, now)
    if mustCompare {
      mustCompare = false
      endWithdrawn(now)
    }
    turnReports(now)
    return [records.due, judge.due, earlier.due, acts.due, users.due, reports?.due]
      .compactMap { $0 }.min()
  }

  /// The number of known records, watched or not.
  public var recordCount: Int { records.count }

  /// The number of sessions that the service is asked about.
  public var watchedCount: Int {
    records.all.count { $0.closing == nil && $0.watch.map { !$0.isOver } ?? false }
  }

  /// When the service last gave an answer that counts, in ms after boot; nil before the first.
  public var lastAnswer: Int64? { inquiries.lastAnswer }

  /// Whether many questions at once need no more connections than one.
  var asksManyAtOnce: Bool { inquiries.service.takesManyAtOnce }

  private func attend(_ watched: WatchedRecord, _ now: Int64) {
    if watched.closing != nil { return tellEnd(watched, now) }
    if let nextCheck = watched.nextCheck, nextCheck <= now {
      watched.nextCheck = nil
      place(watched, now)
      if watched.closing != nil { return tellEnd(watched, now) }
    }
    if let lock = watched.lock, lock.due <= now { acts.look(at: lock, watched, now) }
    if let deadline = watched.watch?.deadline, deadline <= now {
      take(watched.watch?.next(.nothing, at: now) ?? .nothing, watched, now)
    }
    if let nextAsk = watched.nextAsk, nextAsk <= now { ask(watched, now) }
  }

  // MARK: Asking

  func ask(_ watched: WatchedRecord, _ now: Int64) {
    watched.nextAsk = nil
    guard watched.question == nil, watched.closing == nil, !watched.record.isOffline, let watch = watched.watch,
      !watch.isOver
    else { return }
    guard let remote = watched.remote else { return couldNotAsk(watched, "its address is not the service's", now) }
    inquiries.askStatus(of: watched, at: remote, now)
  }

  private func takeOutcomes(_ now: Int64) {
    for (ticket, outcome) in inquiries.service.outcomes() {
      if earlier.took(ticket, outcome, inquiries.pace, log, now) { continue }
      if users.took(ticket, outcome, inquiries.pace, now) {
        mustCompare = true
        continue
      }
      if reports?.took(ticket, outcome, inquiries.pace, log, now) == true { continue }
      guard let id = inquiries.record(askedBy: ticket), let watched = records[id] else { continue }
      watched.question = nil
      switch outcome {
      case .answer(let answer, let mark): took(answer, mark, watched, now)
      case .mark(let mark): tookMark(mark, watched, now)
      case .endTold: forget(id, now)
      // Only `users` and `reports` ask these questions.
      case .users, .signedUsers, .codeUseTold, .codeUseDisowned, .codeUseRefused: break
      case .failed(let error): failed(error, watched, now)
      }
    }
  }

  private func tookMark(_ mark: ServiceMark?, _ watched: WatchedRecord, _ now: Int64) {
    inquiries.tookAnswer(watched, now)
    watched.nextAsk = now + inquiries.pace.afterUnknown()
    let action = watched.watch?.next(.mark(mark), at: now) ?? .nothing
    judge.checkForPutBack(watched, now)
    take(action, watched, now)
  }

  private func took(_ answer: SessionAnswer, _ mark: ServiceMark?, _ watched: WatchedRecord, _ now: Int64) {
    let wasAsked = watched.askedAt
    inquiries.tookAnswer(watched, now)
    let before = watched.watch?.status
    let action = watched.watch?.next(.answer(answer, mark: mark), at: now) ?? .nothing
    if case .status(let word, _, _) = answer, watched.watch?.isPutBack != true {
      if watched.watch?.isLeftAside == false { watched.remark = "" }
      acts.callOff(watched, word == .active ? [.walkaway, .unreachable] : [.unreachable])
    }
    judge.checkForPutBack(watched, now)
    inquiries.schedule(
      after: answer, watched, hasChanged: watched.watch?.status != before, asked: wasAsked, now)
    take(action, watched, now, isVouchedFor: answer.isVouchedFor)
  }

  /// The phone that opened the session is not in the signed list any more.
  func withdrawn(_ watched: WatchedRecord, _ now: Int64) {
    take(watched.watch?.next(.withdrawn, at: now) ?? .nothing, watched, now, isVouchedFor: true)
  }

  private func failed(_ error: ServiceError, _ watched: WatchedRecord, _ now: Int64) {
    guard watched.closing == nil else { return inquiries.couldNotTellEnd(watched, error, now) }
    couldNotAsk(watched, error.explanation, now)
    if case .tooManyRequests(let seconds?) = error { inquiries.delay(watched, seconds: seconds, now) }
  }

  private func couldNotAsk(_ watched: WatchedRecord, _ why: String, _ now: Int64) {
    inquiries.couldNotAsk(watched, why, now)
    take(watched.watch?.next(.unanswered, at: now) ?? .nothing, watched, now)
  }

  // MARK: Deciding

  /// - Parameter isVouchedFor: the service has signed who ended it, so the guard against mass ends is not asked.
  private func take(_ action: WatchAction, _ watched: WatchedRecord, _ now: Int64, isVouchedFor: Bool = false) {
    switch action {
    case .nothing: break
    case .warn(let milliseconds): acts.warn(watched, milliseconds)
    case .warnOfExpiry(let milliseconds): acts.warnOfExpiry(watched, milliseconds)
    case .askMark: inquiries.askMark(for: watched, now)
    case .logout(let cause), .lock(let cause), .leaveOpen(let cause):
      guard cause == .ended || cause == .forgotten, !isVouchedFor, judge.mustJudge(watched) else {
        // An outage does not settle an end that was left alone.
        if cause != .unreachable { watched.watch?.takeUpAgain() }
        acts.carryOut(action, watched, now)
        break
      }
      watched.pendingEnd = action
      judge.begin(now) { other in ask(other, now) }
    }
    records.writeNote(watched)
  }
}
