import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// Locks or logs out sessions at this computer's seats once ``BluetoothWatch`` says that their user has left.
///
/// It does not wait: ``turn(_:)`` does what is due. Times are milliseconds after boot.
final class SeatActs {
  /// The pause between two attempts to read sessions. It grows.
  private static let pauses: ClosedRange<Int64> = 500...30_000

  /// A user whose sessions are acted upon. logind lists the sessions.
  private struct Begun {
    let user: UnixUsername
    let cause: Cause
    var due: Int64
    var attempts = 0
    /// Sessions that were dealt with, or deliberately left alone.
    var settled: Set<String> = []
  }

  private struct Locking {
    let user: UnixUsername
    let session: LeavingSession
    let lock: ScreenLock
  }

  /// Nil until the configuration was read. Nothing begins before.
  var setup: SupervisorSetup?
  private let logind: any Logind
  private let seat: any Seat
  private let log: any HelperLog
  private let logouts: SessionLogouts
  private let away: AwayLocks
  private var begun: [Begun] = []
  private var locking: [Locking] = []

  /// - Parameter leaving: the logouts that the next helper goes on with if this one ends.
  init(leaving: LeavingSessions, away: AwayLocks, logind: any Logind, seat: any Seat, log: any HelperLog) {
    self.away = away
    self.logind = logind
    self.seat = seat
    self.log = log
    logouts = SessionLogouts(kept: leaving, logind: logind, seat: seat, log: log)
  }

  /// When the next step is due.
  var due: Int64? { (begun.map(\.due) + locking.map(\.lock.due) + [logouts.due].compactMap { $0 }).min() }

  /// Whether an action for this user is still under way. A logout is, until it cannot be called off any more: from then
  /// on its note tells the next helper.
  func isBusy(_ user: UnixUsername) -> Bool {
    begun.contains { $0.user == user } || locking.contains { $0.user == user } || logouts.hasWaiting(user)
  }

  /// Acts on all sessions of the user at a seat.
  func begin(_ user: UnixUsername, _ cause: Cause, _ now: Int64) {
    begun.removeAll { $0.user == user }
    begun.append(Begun(user: user, cause: cause, due: now))
  }

  /// Stops what has not been done yet, because a phone of the user answers again, or the computer slept.
  ///
  /// - Returns: whether there was something to stop.
  @discardableResult
  func callOff(_ user: UnixUsername) -> Bool {
    let wasBusy = isBusy(user)
    begun.removeAll { $0.user == user }
    locking.removeAll { $0.user == user }
    return !logouts.callOff(user, [.presence, .presenceUnknown]).isEmpty || wasBusy
  }

  /// Writes a line to the terminals of sessions that will be locked or logged out.
  func warn(_ user: UnixUsername, of cause: Cause, milliseconds: Int64) {
    // The warning may be missing: sessions that cannot be read are dealt with without one.
    guard let sessions = try? SeatSessions.of([user], logind)[user]?.there else { return }
    for session in sessions {
      guard let does = words(for: cause, on: session) else { continue }
      let why =
        cause == .presence ? "Your phone is out of Bluetooth's reach" : "This computer cannot look for your phone"
      seat.say(
        "\(why): \(does) in \(milliseconds / 1_000) s unless it is found.", inSession: session.id, of: session.uid)
    }
  }

  /// The line for the user; nil if the session is left alone.
  private func words(for cause: Cause, on session: LogindSession) -> String? {
    switch action(for: cause, on: session) {
    case .lock: "this screen locks"
    case .logout: "you are signed out"
    case .nothing, .warn, .warnOfExpiry, .askMark, .askAgain, .leaveOpen: nil
    }
  }

  private func action(for cause: Cause, on session: LogindSession) -> WatchAction {
    guard let setup else { return .nothing }
    return CauseTable(
      policy: setup.policy, canLock: session.canLock, isGraphicalAtSeat: session.isGraphicalAtSeat, endsAtExpiry: false
    ).action(for: cause)
  }

  /// logind has removed a session.
  func sessionRemoved(_ id: String, _ now: Int64) { logouts.sessionRemoved(id, now) }

  /// The computer slept.
  func wokeUp(_ now: Int64) { logouts.wokeUp(now) }

  /// Takes the steps that are due.
  func turn(_ now: Int64) {
    for index in begun.indices.reversed() where begun[index].due <= now {
      if act(&begun[index], now) { begun.remove(at: index) }
    }
    locking.removeAll { $0.lock.due <= now && hasEnded($0, now) }
    logouts.turn(now)
  }

  // MARK: Sessions

  /// Acts on the user's sessions.
  ///
  /// - Returns: whether all of them were dealt with.
  private func act(_ begun: inout Begun, _ now: Int64) -> Bool {
    var why = ""
    do throws(LogindError) {
      let sessions = try SeatSessions.of([begun.user], logind)[begun.user] ?? SeatSessions()
      for session in sessions.there where !begun.settled.contains(session.id) {
        if settle(session, begun, now) { begun.settled.insert(session.id) } else { why = "session \(session.id)" }
      }
      if let unclear = sessions.unclear.first { why = "session \(unclear)" }
    } catch { why = error.explanation }
    guard !why.isEmpty else { return true }
    if begun.attempts == 0 {
      log.write(LOG_ERR, "sessions of \(LogField.text("user", begun.user.text)) cannot be looked at: \(why)")
    }
    begun.due = now + min(Self.pauses.lowerBound << min(begun.attempts, 6), Self.pauses.upperBound)
    begun.attempts += 1
    return false
  }

  /// Locks or logs out one session.
  ///
  /// - Returns: false if it could not be done yet.
  private func settle(_ session: LogindSession, _ begun: Begun, _ now: Int64) -> Bool {
    guard let setup, let leader = ProcessIdentity(pid: session.leader), let id = Digest.randomIdentifier() else {
      return false
    }
    let leaving = LeavingSession(
      id: id, user: begun.user, uid: session.uid, service: "seat",
      binding: SessionRecord.Binding(logindSession: session.id, leader: leader))
    switch action(for: begun.cause, on: session) {
    case .logout(let cause): logouts.begin(leaving, cause, setup, now)
    case .lock(let cause): lock(leaving, cause, now)
    case .leaveOpen(let cause): log.write(LOG_NOTICE, "left alone \(name(leaving)) cause=\(cause.rawValue)")
    case .nothing, .warn, .warnOfExpiry, .askMark, .askAgain: return false
    }
    return true
  }

  private func lock(_ session: LeavingSession, _ cause: Cause, _ now: Int64) {
    locking.append(
      Locking(
        user: session.user, session: session, lock: ScreenLock(session.binding, uid: session.uid, cause, now: now)))
    away.note(session.binding, of: session.uid, cause, log)
    for error in seat.dropTickets(of: session.systemUser) {
      log.write(LOG_WARNING, "sudo ticket of \(session.user) not removed: \(error.explanation)")
    }
  }

  /// Reads a screen that is being locked. Returns whether that has ended.
  private func hasEnded(_ locking: Locking, _ now: Int64) -> Bool {
    let cause = locking.lock.cause
    switch locking.lock.step(logind, seat, now: now) {
    case .underWay: return false
    case .gone: break
    case .confirmed(let sign):
      log.write(LOG_NOTICE, "locked \(name(locking.session)) cause=\(cause.rawValue), \(sign.explanation)")
    case .failed:
      log.write(LOG_ERR, "not locked within 5 s: \(name(locking.session)) cause=\(cause.rawValue)")
      guard let setup, setup.onLockFailure == .logout, cause.endsWithoutLock else { break }
      logouts.begin(locking.session, cause, setup, now)
    }
    return true
  }

  private func name(_ session: LeavingSession) -> String {
    "\(LogField.text("user", session.user.text)) logind_session=\(session.binding.logindSession)"
  }
}
