import Glibc
import HostState
import HostSystem

/// One session on its way out: told, terminated by logind, then looked after until nothing of it is left.
///
/// Times are milliseconds after boot.
final class SessionLogout {
  /// sshd and terminal programs pass the line on before they are ended themselves.
  private static let readingTime: Int64 = 50
  /// What still runs after this time is killed.
  private static let emptyingTime: Int64 = 5_000
  /// Between a kill and the look whether it worked.
  private static let killTime: Int64 = 500
  private static let mostKills = 3
  /// A logind that does not know a session, or does not answer, may do so a moment later.
  private static let attemptsBeforeKill = 3
  /// Between two attempts to reach logind or the service manager, in growing steps.
  private static let pauses: ClosedRange<Int64> = 500...30_000
  /// For the user's manager, which does not hold the session open.
  private static let mostAttemptsAtManager = 8

  private enum Phase {
    /// Another helper has begun.
    case resuming
    case speaking
    case terminating
    case emptying(kills: Int)
    case stoppingManager
    case finished
  }

  private(set) var session: LeavingSession
  /// Nil where another helper began it: then it cannot be called off.
  let cause: Cause?
  private let line: String
  private let kept: LeavingSessions
  private let onLinger: Configuration.LingerAction
  private var phase = Phase.speaking
  private var attempts = 0
  /// When the next step is due.
  private(set) var due: Int64

  init(
    _ session: LeavingSession, _ cause: Cause, line: String, onLinger: Configuration.LingerAction,
    kept: LeavingSessions, now: Int64
  ) {
    self.session = session
    self.cause = cause
    self.line = line
    self.onLinger = onLinger
    self.kept = kept
    due = now
  }

  /// What a helper that was ended has left to do.
  init(resuming session: LeavingSession, onLinger: Configuration.LingerAction, kept: LeavingSessions, now: Int64) {
    self.session = session
    cause = nil
    line = ""
    self.onLinger = onLinger
    self.kept = kept
    phase = .resuming
    due = now
  }

  private var binding: SessionRecord.Binding { session.binding }

  /// Whether this is logind's session of that id.
  func isOf(_ logindSession: String) -> Bool { binding.logindSession == logindSession }

  /// Nothing is done any more, since it is no longer wanted.
  func callOff() { try? kept.remove(session.id) }

  var isFinished: Bool { if case .finished = phase { true } else { false } }

  /// Nothing can be taken back any more.
  var hasTerminated: Bool {
    switch phase {
    case .speaking, .terminating: false
    case .resuming, .emptying, .stoppingManager, .finished: true
    }
  }

  /// logind has removed the session: there is no need to wait longer.
  func sessionRemoved(_ now: Int64) { due = min(due, now) }

  func step(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, now: Int64) {
    switch phase {
    case .resuming: resume(logind, seat, log, now)
    case .speaking: speak(logind, seat, log, now)
    case .terminating: terminate(logind, seat, log, now)
    case .emptying(let kills): empty(kills, logind, seat, log, now)
    case .stoppingManager: stopManager(logind, log, now)
    case .finished: break
    }
  }

  private func resume(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    let sight = logind.session(binding.logindSession)
    switch sight {
    // It was not ended yet: its record is there, and the service is asked anew.
    case .there where isOurs(sight): finish()
    // Its leader has ended, and something of it is left.
    case .there(let found) where binding.matches(found, of: session.uid, leader: .mayHaveEnded):
      phase = .emptying(kills: 0)
      empty(0, logind, seat, log, now)
    case .unclear(.forgotten):
      phase = .emptying(kills: 0)
      empty(0, logind, seat, log, now)
    // Its id is another's now.
    case .there, .gone:
      phase = .stoppingManager
      attempts = 0
      stopManager(logind, log, now)
    case .unclear(let error):
      guard attempts < Self.mostAttemptsAtManager else { return finish() }
      retry("session \(binding.logindSession), logged out before, cannot be looked at: \(error.explanation)", log, now)
    }
  }

  private func speak(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    // Before the session is known to be the one that is meant, nothing is written to anybody's terminal.
    guard isOurs(logind.session(binding.logindSession)) || isLed(seat) else { return terminate(logind, seat, log, now) }
    phase = .terminating
    seat.say(line, inSession: binding.logindSession, of: session.uid)
    for error in seat.dropTickets(of: session.systemUser) {
      log.write(LOG_WARNING, "sudo ticket of \(session.user) not removed: \(error.explanation)")
    }
    due = now + Self.readingTime
  }

  /// A session id or a process number that was given anew belongs to a stranger.
  private func isOurs(_ sight: SessionSight) -> Bool {
    guard case .there(let found) = sight else { return false }
    return binding.matches(found, of: session.uid, leader: .mustRun)
  }

  /// The scope of that id is ours by the leader in it, whatever logind knows.
  private func isLed(_ seat: any Seat) -> Bool {
    binding.leader.isAlive && seat.runs(binding.leader, inSession: binding.logindSession, of: session.uid)
  }

  private func terminate(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    let sight = logind.session(binding.logindSession)
    switch sight {
    case .gone: finish()
    case .unclear(let error): killOrRetry(error, logind, seat, log, now)
    case .there:
      // A leader that cannot be looked at just now is no stranger's.
      guard isOurs(sight) else {
        return binding.leader.presence == .unknown
          ? retry("leader of session \(binding.logindSession) cannot be looked at", log, now) : finish()
      }
      keep(log, now)
      do throws(LogindError) {
        try logind.terminateSession(binding.logindSession)
        log.write(LOG_NOTICE, "logged out \(logText)")
        beginEmptying(now)
      } catch { killOrRetry(error, logind, seat, log, now) }
    }
  }

  /// logind forgets a session whose file it could not write (a full /run), and a logind that hangs terminates none. The
  /// scope is the service manager's.
  private func killOrRetry(
    _ error: LogindError, _ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64
  ) {
    guard attempts >= Self.attemptsBeforeKill, isLed(seat) else {
      return retry("session \(binding.logindSession) not terminated: \(error.explanation)", log, now)
    }
    keep(log, now)
    do throws(LogindError) {
      try logind.killUnit(SessionScope.unit(of: binding.logindSession))
      log.write(LOG_NOTICE, "killed \(logText), which logind does not terminate")
      beginEmptying(now)
    } catch { retry("session \(binding.logindSession) not killed: \(error.explanation)", log, now) }
  }

  /// For the next helper, should this one be ended. Without it a logout is better than none.
  private func keep(_ log: any HelperLog, _ now: Int64) {
    session.terminatedAt = now
    do throws(LedgerError) { try kept.write(session) } catch {
      log.write(LOG_WARNING, "logout not noted: \(session.logName): \(error.explanation)")
    }
  }

  private func beginEmptying(_ now: Int64) {
    phase = .emptying(kills: 0)
    attempts = 0
    due = now + Self.emptyingTime
  }

  private func empty(_ kills: Int, _ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    let scope = SessionScope.unit(of: binding.logindSession)
    guard seat.hasProcesses(inSession: binding.logindSession, of: session.uid) else {
      phase = .stoppingManager
      attempts = 0
      return stopManager(logind, log, now)
    }
    let killTime = session.terminatedAt + Self.emptyingTime + Int64(kills) * Self.killTime
    guard now >= killTime else {
      due = killTime
      return
    }
    guard kills < Self.mostKills else {
      log.write(LOG_ERR, "processes are left in \(scope)")
      return finish()
    }
    do throws(LogindError) {
      try logind.killUnit(scope)
      log.write(LOG_NOTICE, "killed what was left in \(scope)")
      phase = .emptying(kills: kills + 1)
      due = now + Self.killTime
    } catch { retry("\(scope) not killed: \(error.explanation)", log, now) }
  }

  /// `systemd-run --user` and lingering services outlive the session (`on_linger = keep` leaves them).
  private func stopManager(_ logind: any Logind, _ log: any HelperLog, _ now: Int64) {
    guard onLinger == .stop else { return finish() }
    do throws(LogindError) {
      if try UserManager.stopIfSignedOut(session.uid, logind) {
        log.write(LOG_NOTICE, "stopped the service manager of \(session.user), whose last session this was")
      }
      finish()
    } catch {
      guard attempts < Self.mostAttemptsAtManager else { return finish() }
      retry("service manager of \(session.user) not stopped: \(error.explanation)", log, now)
    }
  }

  private func finish() {
    phase = .finished
    // One that stays is looked at again, and found to be over, by the next helper.
    try? kept.remove(session.id)
  }

  private func retry(_ text: String, _ log: any HelperLog, _ now: Int64) {
    log.write(LOG_ERR, text)
    due = now + min(Self.pauses.lowerBound << min(attempts, 6), Self.pauses.upperBound)
    attempts += 1
  }

  private var logText: String {
    "\(session.logName) cause=\(cause?.rawValue ?? "-") logind_session=\(binding.logindSession)"
  }
}
