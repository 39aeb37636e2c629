import Glibc
import HostState
import HostSystem

/// One logind session on its way out: told, terminated by logind, then looked after until nothing of it is left.
///
/// It says what is done next (``next(at:)``) and learns how that went (``took(_:at:)``); ``SessionLogouts`` does it.
/// Times are milliseconds after boot.
struct SessionLogout {
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
  /// Display managers whose own process ends in order by SIGTERM alone.
  ///
  /// logind's end of a session brings SIGHUP too. sddm-helper 0.21 dies of it with the status 1, which SDDM takes for a
  /// sign-in that failed (`HELPER_AUTH_ERROR`): it would show no greeter again.
  private static let askedFirst: Set<String> = ["sddm"]
  /// Until such a process is killed, with all that is left in its scope. The user must see the end of the session within
  /// 300 ms. Killed, it does no harm: SDDM takes only the status 1 for a sign-in that failed.
  private static let leavingTime: Int64 = 150
  /// Between two looks whether it has left.
  private static let leavingLookTime: Int64 = 25

  private enum Phase: Equatable {
    /// Another helper has begun.
    case resuming
    case speaking
    /// The session is the one that is meant; its user is told.
    case telling
    case terminating
    case asking
    case ordering
    /// logind does not terminate it, for this reason; nil: it was asked to leave, and stays.
    case killing(LogindError?)
    case emptying(kills: Int)
    case killingRest(kills: Int)
    case stoppingManager
    case forgetting
    case finished
  }

  private(set) var session: LeavingSession
  /// Nil if another helper began it: then it cannot be called off.
  let cause: Cause?
  /// A process that was seen in the session's scope after its host had closed it or had ended.
  let rest: ProcessIdentity?
  /// What the user reads; empty if another helper began it.
  let line: String
  private let onLinger: Configuration.LingerAction
  private var phase: Phase
  private var attempts = 0
  /// The session was asked to leave.
  private var wasAsked = false
  /// When the next action is due.
  private(set) var due: Int64

  init(
    _ session: LeavingSession, rest: ProcessIdentity?, _ cause: Cause, line: String,
    onLinger: Configuration.LingerAction, now: Int64
  ) {
    self.session = session
    self.rest = rest
    self.cause = cause
    self.line = line
    self.onLinger = onLinger
    phase = .speaking
    due = now
  }

  /// What a helper that was ended has left to do.
  init(resuming session: LeavingSession, onLinger: Configuration.LingerAction, now: Int64) {
    self.session = session
    cause = nil
    rest = nil
    line = ""
    self.onLinger = onLinger
    phase = .resuming
    due = now
  }

  private var binding: SessionRecord.Binding { session.binding }

  private var isAskedFirst: Bool { Self.askedFirst.contains(session.service) }

  /// Whether this is logind's session of that id.
  func isOf(_ logindSession: String) -> Bool { binding.logindSession == logindSession }

  var isFinished: Bool { phase == .finished }

  /// Nothing can be taken back any more.
  var hasTerminated: Bool {
    switch phase {
    case .speaking, .telling, .terminating, .asking, .ordering, .killing: wasAsked
    case .resuming, .emptying, .killingRest, .stoppingManager, .forgetting, .finished: true
    }
  }

  /// logind has removed the session: there is no need to wait longer.
  mutating func sessionRemoved(_ now: Int64) { due = min(due, now) }

  /// What is done next; nil if nothing is until ``due``.
  func next(at now: Int64) -> LogoutAction? {
    guard due <= now else { return nil }
    switch phase {
    case .resuming, .speaking, .terminating: return .look
    case .telling: return .tellUser
    case .asking: return .askToLeave
    case .ordering: return .terminate
    case .killing: return .killIfLed
    case .emptying: return .lookForProcesses
    case .killingRest: return .killRest
    case .stoppingManager: return onLinger == .stop ? .stopManager : .forget
    case .forgetting: return .forget
    case .finished: return nil
    }
  }

  /// The session is about to be terminated: what still runs is killed some time after this.
  mutating func willTerminate(at now: Int64) {
    if !wasAsked { session.terminatedAt = now }
  }

  /// How the action that was said last went.
  ///
  /// - Returns: what the log says of it.
  mutating func took(_ outcome: LogoutOutcome, at now: Int64) -> LogoutRemark? {
    switch (phase, outcome) {
    case (.resuming, .looked(let look)): return resume(look, now)
    case (.speaking, .looked(let look)):
      // Before the session is known to be the one that is meant, nothing is written to anybody's terminal.
      guard look.isOurs || look.isRest || look.isLed else { return terminate(look, now) }
      phase = .telling
    case (.telling, .done):
      phase = .terminating
      // A display manager passes on no lines.
      if !isAskedFirst { due = now + Self.readingTime }
    case (.terminating, .looked(let look)): return terminate(look, now)
    case (.asking, .done):
      wasAsked = true
      phase = .terminating
      due = now + Self.leavingLookTime
    case (.asking, .failed(let error)):
      phase = .ordering
      return LogoutRemark(LOG_WARNING, "session \(binding.logindSession) not asked to leave: \(error.explanation)")
    case (.ordering, .done): return terminated("logged out \(logText)", now)
    case (.ordering, .failed(.noSuchObject)) where wasAsked: return left(now)
    case (.ordering, .failed(let error)): return killOrRetry(error, mayBeLed: true, now)
    case (.killing(let error), .done):
      let reason = error == nil ? "which does not leave" : "which logind does not terminate"
      return terminated("killed \(logText), \(reason)", now)
    case (.killing(let error?), .notLed): return retryTermination("not terminated", error, now)
    case (.killing(nil), .notLed):
      phase = .terminating
      due = now + Self.leavingLookTime
    case (.killing, .failed(let error)): return retryTermination("not killed", error, now)
    case (.emptying(let kills), .processes(let areThere)): return empty(kills, areThere, now)
    case (.killingRest(let kills), .done):
      phase = .emptying(kills: kills + 1)
      due = now + Self.killTime
      return LogoutRemark(LOG_NOTICE, "killed what was left in \(SessionScope.unit(of: binding.logindSession))")
    case (.killingRest(let kills), .failed(let error)):
      phase = .emptying(kills: kills)
      return retry("\(SessionScope.unit(of: binding.logindSession)) not killed: \(error.explanation)", now)
    case (.stoppingManager, .stopped(let wasStopped)):
      phase = .forgetting
      guard wasStopped else { return nil }
      return LogoutRemark(
        LOG_NOTICE, "stopped the service manager of \(session.user), whose last session this was")
    case (.stoppingManager, .failed(let error)):
      guard attempts < Self.mostAttemptsAtManager else {
        phase = .forgetting
        return nil
      }
      return retry("service manager of \(session.user) not stopped: \(error.explanation)", now)
    case (.stoppingManager, .done), (.forgetting, .done): phase = .finished
    default: return retry("session \(binding.logindSession): an outcome of another action", now)
    }
    return nil
  }

  private mutating func resume(_ look: LogoutLook, _ now: Int64) -> LogoutRemark? {
    switch look.sight {
    // It was not ended yet: its record is there, and the service is asked again.
    case .there where look.isOurs: phase = .forgetting
    // Its leader has ended, and something of it is left.
    case .there(let found) where binding.matches(found, of: session.uid, leader: .mayHaveEnded):
      phase = .emptying(kills: 0)
    case .unclear(.forgotten): phase = .emptying(kills: 0)
    // Its id is another's now.
    case .there, .gone: stopManager()
    case .unclear(let error):
      guard attempts < Self.mostAttemptsAtManager else {
        phase = .forgetting
        return nil
      }
      return retry(
        "session \(binding.logindSession), logged out before, cannot be looked at: \(error.explanation)", now)
    }
    return nil
  }

  private mutating func terminate(_ look: LogoutLook, _ now: Int64) -> LogoutRemark? {
    if wasAsked { return terminateAfterAsking(look, now) }
    switch look.sight {
    case .gone: phase = .forgetting
    case .unclear(let error): return killOrRetry(error, mayBeLed: look.isLed, now)
    case .there where look.isOurs: phase = isAskedFirst ? .asking : .ordering
    // logind's TerminateSession does nothing to a session that is closing already.
    case .there where look.isRest || (look.isOursOrLeft && look.isLed): phase = .asking
    // A leader that cannot be looked at just now does not show that the session is a stranger's.
    case .there where look.isLeaderUnclear:
      return retry("leader of session \(binding.logindSession) cannot be looked at", now)
    // logind may not have noticed yet that its leader has ended.
    case .there where look.isOursOrLeft && attempts < Self.attemptsBeforeKill:
      return retry("leader of session \(binding.logindSession) has ended, and logind does not close it", now)
    case .there: phase = .forgetting
    }
    return nil
  }

  /// Once its leader has gone, the rest has as long as what survives any other logout.
  private mutating func terminateAfterAsking(_ look: LogoutLook, _ now: Int64) -> LogoutRemark? {
    let isLate = now >= session.terminatedAt + Self.leavingTime
    switch look.sight {
    case .there where look.isOurs && isLate: phase = .killing(nil)
    case .there where look.isOurs: due = now + Self.leavingLookTime
    case .there where look.isLeaderUnclear && !isLate: due = now + Self.leavingLookTime
    case .there where look.isOursOrLeft: phase = .ordering
    // What runs in its scope is killed, whether logind knows the session or not.
    case .gone: return left(now)
    case .unclear(.forgotten): return terminated("logged out \(logText)", now)
    case .unclear(let error): return retryTermination("not terminated", error, now)
    // Its id is another's now.
    case .there: stopManager()
    }
    return nil
  }

  /// logind forgets a session whose file it could not write (a full /run), and a logind that hangs terminates none. The
  /// scope is the service manager's.
  private mutating func killOrRetry(_ error: LogindError, mayBeLed: Bool, _ now: Int64) -> LogoutRemark? {
    guard attempts >= Self.attemptsBeforeKill, mayBeLed else { return retryTermination("not terminated", error, now) }
    phase = .killing(error)
    return nil
  }

  private mutating func terminated(_ text: String, _ now: Int64) -> LogoutRemark {
    phase = .emptying(kills: 0)
    attempts = 0
    due = now + Self.emptyingTime
    return LogoutRemark(LOG_NOTICE, text)
  }

  /// logind has removed the session already, and says so no more: what it leaves is looked at at once.
  private mutating func left(_ now: Int64) -> LogoutRemark {
    let remark = terminated("logged out \(logText)", now)
    due = now
    return remark
  }

  private mutating func empty(_ kills: Int, _ hasProcesses: Bool, _ now: Int64) -> LogoutRemark? {
    guard hasProcesses else {
      stopManager()
      return nil
    }
    let killTime = session.terminatedAt + Self.emptyingTime + Int64(kills) * Self.killTime
    guard now >= killTime else {
      due = killTime
      return nil
    }
    guard kills < Self.mostKills else {
      phase = .forgetting
      return LogoutRemark(LOG_ERR, "processes are left in \(SessionScope.unit(of: binding.logindSession))")
    }
    phase = .killingRest(kills: kills)
    return nil
  }

  /// `systemd-run --user` and lingering services outlive the session (`on_linger = keep` leaves them).
  private mutating func stopManager() {
    phase = .stoppingManager
    attempts = 0
  }

  private mutating func retryTermination(_ what: String, _ error: LogindError, _ now: Int64) -> LogoutRemark {
    // A session that could not be looked at before is told once it can be.
    if phase != .speaking { phase = .terminating }
    return retry("session \(binding.logindSession) \(what): \(error.explanation)", now)
  }

  private mutating func retry(_ text: String, _ now: Int64) -> LogoutRemark {
    due = now + min(Self.pauses.lowerBound << min(attempts, 6), Self.pauses.upperBound)
    attempts += 1
    return LogoutRemark(LOG_ERR, text)
  }

  private var logText: String {
    "\(session.logName) cause=\(cause?.rawValue ?? "-") logind_session=\(binding.logindSession)"
  }
}
