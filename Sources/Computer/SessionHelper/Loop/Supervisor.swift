import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Watches all records. It asks the service (⑧), ``SessionWatch`` and ``EndJudge`` decide, and ``SessionActs`` acts
/// through logind (⑨).
///
/// It does not wait: ``turn(at:)`` does what is due. Times are milliseconds after boot.
final class Supervisor {
  /// The pause until a warning that could not be shown is tried again, in ms.
  private static let warnAgainTime: Int64 = 30_000

  private let records: WatchedRecords
  private let keeper: RecordKeeper
  private let inquiries: SessionInquiries
  private let judge: EndJudge
  private let acts: SessionActs
  private let earlier: EarlierSessions
  private let withdrawn: WithdrawnPhones
  /// Nil: sign-ins without the service are not reported.
  private let reports: CodeReports?
  private let users: UserListKeeper
  private let log: any HelperLog

  init(
    setup: SupervisorSetup, ledger: SessionLedger, notes: WatchNotes, leaving: LeavingSessions,
    earlier: EarlierSessions, away: AwayLocks, logind: any Logind, seat: any Seat, service: any SessionService,
    lookups: any UserLookups, log: any HelperLog, reports: CodeReports? = nil, pace: PollingSchedule = PollingSchedule()
  ) {
    records = WatchedRecords(ledger: ledger, notes: notes, log: log)
    inquiries = SessionInquiries(service, pace: pace, log: log)
    judge = EndJudge(records: records, inquiries: inquiries, log: log)
    acts = SessionActs(
      setup: setup, records: records, leaving: leaving, away: away, logind: logind, seat: seat, log: log)
    self.earlier = earlier
    withdrawn = WithdrawnPhones(setup: setup, records: records, lookups: lookups, log: log)
    keeper = RecordKeeper(
      setup: setup, records: records, inquiries: inquiries, judge: judge, acts: acts, earlier: earlier,
      withdrawn: withdrawn, logind: logind, seat: seat, log: log)
    self.reports = reports
    users = UserListKeeper(log: log)
    self.log = log
  }

  /// Reads all records, and keeps the service's list of users from now on.
  ///
  /// - Parameter place: where the list is kept; nil: users do not come from the service.
  func begin(keepingUsersAt place: UserListKeeper.Place?, at now: Int64) {
    rescan(at: now)
    users.adopt(place, at: now)
  }

  /// Does what is due.
  ///
  /// - Returns: when the next step is due; nil if only an event can make one due.
  func turn(at now: Int64) -> Int64? {
    if let due = keeper.due, due <= now { keeper.rescan(at: now) }
    takeOutcomes(now)
    for watched in records.takeDue(at: now) { attend(watched, now) }
    judge.turn(now) { action, watched in carryOut(action, watched, now) }
    acts.turn(now)
    earlier.turn(inquiries.service, log, now)
    users.turn(inquiries.service, now)
    withdrawn.turn { watched in
      take(watched.watch?.next(.withdrawn, at: now) ?? .nothing, watched, now, isVouchedFor: true)
    }
    turnReports(now)
    return [keeper.due, records.due, judge.due, earlier.due, acts.due, users.due, reports?.due]
      .compactMap { $0 }.min()
  }

  /// The number of known records, watched or not.
  var recordCount: Int { records.count }

  /// The number of sessions that the service is asked about.
  var watchedCount: Int {
    records.all.count { $0.closing == nil && $0.watch.map { !$0.isOver } ?? false }
  }

  /// When the service last gave an answer that counts, in ms after boot; nil before the first.
  var lastAnswer: Int64? { inquiries.lastAnswer }

  /// Whether many questions at once need no more connections than one.
  var asksManyAtOnce: Bool { inquiries.service.takesManyAtOnce }

  // MARK: News

  /// Reads a record that was written, changed or removed, or whose next look is due.
  func recordChanged(_ id: String, at now: Int64) { keeper.recordChanged(id, at: now) }

  /// Reads all records: at the start, after lost events, and from time to time.
  func rescan(at now: Int64) { keeper.rescan(at: now) }

  /// Reads again the files that could not be read: descriptors or memory may have run out.
  func checkLeftOut(at now: Int64) { keeper.checkLeftOut(at: now) }

  /// A process that a record names has ended.
  func processEnded(_ process: ProcessIdentity, at now: Int64) { keeper.processEnded(process, at: now) }

  /// Processes whose end matters; nil if they are the same as at the last call.
  func changedProcesses() -> Set<ProcessIdentity>? { records.changedProcesses() }

  /// Uses a changed configuration. The service is asked about every session again, and the new rules decide. Logouts
  /// that have begun go on.
  func adopt(_ setup: SupervisorSetup, _ service: any SessionService, at now: Int64) {
    keeper.adopt(setup)
    withdrawn.adopt(setup)
    acts.adopt(setup)
    inquiries.adopt(service)
    earlier.startOver(now)
    users.adopt(setup.userList, at: now)
    reports?.startOver(now)
    records.startOver()
    rescan(at: now)
  }

  /// Takes events of logind.
  func logindTold(_ events: [LogindEvent], at now: Int64) {
    for event in events {
      switch event {
      case .sessionRemoved(let session):
        acts.sessionRemoved(session, now)
        keeper.checkAgain(now) { $0.record.binding?.logindSession == session }
      case .preparesForSleep(true): break
      case .preparesForSleep(false): wokeUp(now)
      case .reconnected: keeper.checkAgain(now) { _ in true }
      }
    }
  }

  /// After a sleep the service is asked about every session at once, over new connections.
  func wokeUp(_ now: Int64) {
    inquiries.startOver()
    earlier.startOver(now)
    users.startOver(now)
    reports?.startOver(now)
    keeper.wokeUp(now)
    judge.wokeUp(now)
    acts.wokeUp(now)
  }

  // MARK: What is due

  private func attend(_ watched: WatchedRecord, _ now: Int64) {
    if watched.closing != nil { return keeper.tellEnd(watched, now) }
    if let nextCheck = watched.nextCheck, nextCheck <= now {
      watched.nextCheck = nil
      keeper.place(watched, now)
      if watched.closing != nil { return keeper.tellEnd(watched, now) }
    }
    if let lock = watched.lock, lock.due <= now { acts.look(at: lock, watched, now) }
    if let deadline = watched.watch?.deadline, deadline <= now {
      take(watched.watch?.next(.nothing, at: now) ?? .nothing, watched, now)
    }
    if let nextAsk = watched.nextAsk, nextAsk <= now { ask(watched, now) }
  }

  // MARK: Asking

  private func ask(_ watched: WatchedRecord, mayHold: Bool = true, _ now: Int64) {
    watched.nextAsk = nil
    guard watched.question == nil, watched.closing == nil, !watched.record.isOffline, let watch = watched.watch,
      !watch.isOver
    else { return }
    guard let remote = watched.remote else { return couldNotAsk(watched, "its address is not the service's", now) }
    inquiries.askStatus(of: watched, at: remote, mayHold: mayHold, now)
  }

  /// Asks about a session in place of a question that the service may hold.
  private func askAgain(_ watched: WatchedRecord, _ now: Int64) {
    inquiries.forgetQuestion(of: watched)
    // If the phone is back, the service may hold the next question at once.
    watched.isFirstAnswer = true
    ask(watched, mayHold: false, now)
  }

  private func takeOutcomes(_ now: Int64) {
    for (ticket, outcome) in inquiries.service.outcomes() {
      if earlier.took(ticket, outcome, inquiries.pace, log, now) { continue }
      if users.took(ticket, outcome, inquiries.pace, now) {
        withdrawn.compareAgain()
        continue
      }
      if reports?.took(ticket, outcome, inquiries.pace, log, now) == true { continue }
      guard let id = inquiries.record(askedBy: ticket), let watched = records[id] else { continue }
      watched.question = nil
      switch outcome {
      case .answer(let answer, let mark): took(answer, mark, watched, now)
      case .mark(let mark): tookMark(mark, watched, now)
      case .endTold: keeper.forget(id, now)
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
    case .warnOfExpiry(let milliseconds):
      if !acts.warnOfExpiry(watched, milliseconds) { watched.watch?.warnLater(at: now + Self.warnAgainTime) }
    case .askMark: inquiries.askMark(for: watched, now)
    case .askAgain: askAgain(watched, now)
    case .logout(let cause), .lock(let cause), .leaveOpen(let cause):
      if !isVouchedFor, cause == .ended || cause == .forgotten {
        if judge.mustJudge(watched, now) {
          watched.pendingEnd = action
          judge.begin(now) { other in ask(other, now) }
          break
        }
        judge.count(watched, now)
      }
      // An outage does not settle an end that was left alone.
      if cause != .unreachable { watched.watch?.takeUpAgain() }
      carryOut(action, watched, now)
    }
    records.writeNote(watched)
  }

  /// Does what was decided, by the screen that the session has now.
  private func carryOut(_ action: WatchAction, _ watched: WatchedRecord, _ now: Int64) {
    keeper.readScreen(of: watched)
    acts.carryOut(watched.watch?.decidedAgain(action) ?? action, watched, now)
  }

  // MARK: Sign-ins without the service

  /// Looks for uses that the service does not know yet.
  func checkUses(at now: Int64) {
    reports?.look(open: records.openUses.values.compactMap { ReportedUse($0.record) }, log, now)
  }

  private func turnReports(_ now: Int64) {
    guard let reports else { return }
    let open = records.openUses
    for use in reports.takeDisowned() {
      guard let watched = open[use] else { continue }
      log.write(LOG_NOTICE, "disowned on the phone: \(watched.record.logName)")
      acts.signOut(watched, .ended, now)
    }
    reports.turn(open: Set(open.keys), inquiries.service, log, now)
  }
}
