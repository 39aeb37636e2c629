import Glibc
import HostState

/// ⑨ What is done to sessions, and what their users are told.
///
/// It does not wait: ``turn(_:)`` does what is due. Times are milliseconds after boot.
final class SessionActs {
  private var setup: SupervisorSetup
  private let records: WatchedRecords
  private let logouts: SessionLogouts
  private let away: AwayLocks
  private let logind: any Logind
  private let seat: any Seat
  private let log: any HelperLog

  init(
    setup: SupervisorSetup, records: WatchedRecords, leaving: LeavingSessions, away: AwayLocks, logind: any Logind,
    seat: any Seat, log: any HelperLog
  ) {
    self.setup = setup
    self.records = records
    logouts = SessionLogouts(kept: leaving, logind: logind, seat: seat, log: log)
    self.away = away
    self.logind = logind
    self.seat = seat
    self.log = log
  }

  /// When the next step of a logout is due; nil if none is under way.
  var due: Int64? { logouts.due }

  /// Goes on with the logouts that were begun.
  func turn(_ now: Int64) { logouts.turn(now) }

  /// The computer slept.
  func wokeUp(_ now: Int64) { logouts.wokeUp(now) }

  /// Uses a changed configuration from now on. Logouts that have begun keep the former one.
  func adopt(_ setup: SupervisorSetup) { self.setup = setup }

  /// Goes on with the logouts that a helper before this one had begun.
  func resume(_ now: Int64) { logouts.resume(setup.onLinger, now) }

  func sessionRemoved(_ session: String, _ now: Int64) { logouts.sessionRemoved(session, now) }

  /// Begins to end a session.
  func signOut(_ watched: WatchedRecord, _ cause: Cause, _ now: Int64) { logouts.begin(watched, cause, setup, now) }

  /// Does what was decided about a session.
  func carryOut(_ action: WatchAction, _ watched: WatchedRecord, _ now: Int64) {
    switch action {
    case .nothing, .warn, .warnOfExpiry, .askMark, .askAgain: break
    case .logout(let cause): logouts.begin(watched, cause, setup, now)
    case .lock(let cause):
      guard let binding = watched.record.binding else { return }
      watched.lock = ScreenLock(binding, uid: watched.record.uid, cause, now: now)
      away.note(binding, of: watched.record.uid, cause, log)
      dropTickets(watched)
    case .leaveOpen(let cause):
      watched.remark = cause.remark
      log.write(LOG_NOTICE, "left alone \(watched.record.logName) cause=\(cause.rawValue)")
    }
  }

  func warn(_ watched: WatchedRecord, _ milliseconds: Int64) {
    guard let session = ownSession(of: watched.record) else { return }
    // What runs on after a desktop has no screen any more, and logind's session still has one.
    let locks = setup.policy.onWalkaway == .lock && session.canLock && !watched.isRunningOn
    let does = locks ? "this screen locks" : "you are signed out"
    seat.say(
      "Your phone left: \(does) in \(milliseconds / 1_000) s unless it comes back.", inSession: session.id,
      of: session.uid)
  }

  /// - Returns: false if the session cannot be read, so that nobody was warned.
  func warnOfExpiry(_ watched: WatchedRecord, _ milliseconds: Int64) -> Bool {
    guard let session = ownSession(of: watched.record) else { return false }
    let left = milliseconds < 60_000 ? "\(milliseconds / 1_000) s" : "\((milliseconds + 30_000) / 60_000) min"
    seat.say(
      "You are signed out in \(left), when this session's time is over. To stay, approve it on your phone: "
        + "sudo iampassctl session renew",
      inSession: session.id, of: session.uid)
    return true
  }

  /// Stops what was begun for these causes, because the phone is back, the service answers, or the computer slept.
  ///
  /// - Returns: the causes of what was stopped.
  @discardableResult
  func callOff(_ watched: WatchedRecord, _ causes: Set<Cause>) -> Set<Cause> {
    var stopped = logouts.callOff(watched.record.id, causes)
    if let lock = watched.lock, causes.contains(lock.cause) {
      watched.lock = nil
      stopped.insert(lock.cause)
    }
    return stopped
  }

  /// Stops the logout that was begun for the record before a renewal: the user has approved that the session goes on.
  func callOffRenewed(_ binding: SessionRecord.Binding, by id: String) {
    logouts.callOff(binding, renewedBy: id, [.expired, .walkaway, .unreachable])
  }

  func look(at lock: ScreenLock, _ watched: WatchedRecord, _ now: Int64) {
    switch lock.step(logind, seat, now: now) {
    case .underWay: return
    case .confirmed(let sign):
      watched.watch?.lockIsSettled()
      watched.remark = "locked: \(lock.cause.remark)"
      log.write(LOG_NOTICE, "locked \(watched.record.logName) cause=\(lock.cause.rawValue), \(sign.explanation)")
    case .failed:
      log.write(LOG_ERR, "not locked within 5 s: \(watched.record.logName) cause=\(lock.cause.rawValue)")
      watched.remark = "not locked: \(lock.cause.remark)"
      let endsWithoutLock = lock.cause.endsWithoutLock || (lock.cause == .expired && watched.record.endsAtExpiry)
      if setup.onLockFailure == .logout, endsWithoutLock {
        logouts.begin(watched, lock.cause, setup, now)
      } else {
        watched.watch?.lockIsSettled()
      }
    case .gone: break
    }
    watched.lock = nil
    records.writeNote(watched)
  }

  private func dropTickets(_ watched: WatchedRecord) {
    for error in seat.dropTickets(of: watched.record.systemUser) {
      log.write(LOG_WARNING, "sudo ticket of \(watched.record.user) not removed: \(error.explanation)")
    }
  }

  /// The logind session that the record is bound to, if it is still the same session.
  private func ownSession(of record: SessionRecord) -> LogindSession? {
    guard let binding = record.binding, case .there(let session) = logind.session(binding.logindSession),
      binding.matches(session, of: record.uid, leader: .mustRun) || binding.isRest(session, of: record.uid)
    else { return nil }
    return session
  }
}

extension Cause {
  /// Whether a session that does not lock is logged out for this cause. An outage of the service or of Bluetooth logs
  /// nobody out. An expiry depends on ``SessionRecord/endsAtExpiry``.
  var endsWithoutLock: Bool {
    switch self {
    case .walkaway, .ended, .forgotten, .administrator, .presence: true
    case .expired, .unreachable, .presenceUnknown: false
    }
  }

  /// The line for the user.
  func words(_ policy: WatchPolicy) -> String {
    switch self {
    case .walkaway: "your phone left"
    case .ended: "the session was closed"
    case .forgotten: "the sign-in service does not know this session any more"
    case .expired: "the session's time is over"
    case .administrator: "an administrator ended the session"
    case .unreachable: "the sign-in service has not answered for \(policy.unreachableGrace / 60_000) min"
    case .presence: "your phone is out of Bluetooth's reach"
    case .presenceUnknown: "this computer could not look for your phone for too long"
    }
  }

  /// The remark for `iampassctl session list`.
  var remark: String {
    switch self {
    case .walkaway: "the phone left"
    case .ended: "closed at the service"
    case .forgotten: "not known to the service"
    case .expired: "expired; not watched any more"
    case .unreachable: "the service cannot be asked"
    case .administrator: "ended by an administrator"
    case .presence: "the phone is out of Bluetooth's reach"
    case .presenceUnknown: "the phone cannot be looked for"
    }
  }
}
