import Glibc
import HostState
import HostSystem

/// The logout of one logind session: its user is told, logind terminates it, and what is left of it is killed.
///
/// ``next(at:)`` gives the next step, ``SessionLogouts`` takes it, and ``took(_:at:)`` gets its result. Times are
/// milliseconds after boot.
struct SessionLogout {
  /// The time from the user's line to the end of the session: sshd and terminal programs must pass the line on first.
  private static let readingTime: Int64 = 50
  /// Processes that still run after this time are killed.
  private static let emptyingTime: Int64 = 5_000
  /// The time from a kill to the next look at the scope.
  private static let killTime: Int64 = 500
  private static let mostKills = 3
  /// logind may know a session, or answer, only a moment later.
  private static let attemptsBeforeKill = 3
  /// The pause between two attempts to reach logind or the service manager. It grows.
  private static let pauses: ClosedRange<Int64> = 500...30_000
  /// Attempts to stop the user's manager, which does not keep the session open.
  private static let mostAttemptsAtManager = 8
  /// PAM services of display managers whose own process must get SIGTERM alone.
  ///
  /// logind also sends SIGHUP when it ends a session. sddm-helper 0.21 then exits with status 1. SDDM takes that status
  /// for a failed sign-in (`HELPER_AUTH_ERROR`), and shows no greeter again.
  private static let askedFirst: Set<String> = ["sddm", "sddm-autologin"]
  /// The time that such a process has to leave before its scope is killed. The user must see the end of the session
  /// within 300 ms. A kill does no harm: SDDM takes only status 1 for a failed sign-in.
  private static let leavingTime: Int64 = 150
  /// The time between two looks whether it has left.
  private static let leavingCheckInterval: Int64 = 25

  private enum Phase: Equatable {
    /// A helper before this one has begun the logout.
    case resuming
    case speaking
    /// The session is the right one, and its user is told.
    case telling
    case terminating
    case asking
    case ordering
    /// logind does not terminate the session, for this reason; nil: the session got SIGTERM and has not left.
    case killing(LogindError?)
    case emptying(kills: Int)
    case killingRest(kills: Int)
    case stoppingManager
    case forgetting
    case finished
  }

  private(set) var session: LeavingSession
  /// Nil if another helper began the logout, which then cannot be called off.
  let cause: Cause?
  /// A process that was seen in the session's scope after its host had closed it or had ended.
  let rest: ProcessIdentity?
  /// The line for the user; empty if another helper began the logout.
  let line: String
  private let onLinger: Configuration.LingerAction
  /// Whether it takes the place of a logout that another helper began: that one may have ended the session already.
  private let follows: Bool
  private var phase: Phase
  private var attempts = 0
  /// The PAM service that opened the session, by logind. The record may have another name, or may be missing: a password
  /// or SDDM by itself opened the session.
  private var openedBy = ""
  /// It is a desktop on a screen of this computer, which ends with all its terminals: nobody could read a line there.
  private var isDesktop = false
  /// The session's processes got SIGTERM.
  private var wasAsked = false
  /// When the next action is due.
  private(set) var due: Int64

  init(
    _ session: LeavingSession, rest: ProcessIdentity?, _ cause: Cause, line: String,
    onLinger: Configuration.LingerAction, follows: Bool = false, now: Int64
  ) {
    self.follows = follows
    self.session = session
    self.rest = rest
    self.cause = cause
    self.line = line
    self.onLinger = onLinger
    phase = .speaking
    due = now
  }

  /// Resumes the logout of a helper that was ended.
  init(resuming session: LeavingSession, onLinger: Configuration.LingerAction, now: Int64) {
    self.session = session
    cause = nil
    follows = false
    rest = nil
    line = ""
    self.onLinger = onLinger
    phase = .resuming
    due = now
  }

  private var binding: SessionRecord.Binding { session.binding }

  private var isAskedFirst: Bool { Self.askedFirst.contains(session.service) || Self.askedFirst.contains(openedBy) }

  /// Whether this logout is of logind's session of that id.
  func isOf(_ logindSession: String) -> Bool { binding.logindSession == logindSession }

  var isFinished: Bool { phase == .finished }

  /// Whether another helper began it, and this one has not seen its session yet.
  var isResuming: Bool { phase == .resuming }

  /// Whether its user is still to be told.
  var isToTell: Bool { phase == .speaking || phase == .telling }

  /// Whether it is too late to call the logout off.
  var hasTerminated: Bool {
    switch phase {
    case .speaking, .telling, .terminating, .asking, .ordering, .killing: wasAsked
    case .resuming, .emptying, .killingRest, .stoppingManager, .forgetting, .finished: true
    }
  }

  /// logind has removed the session, so the next step is due now.
  mutating func sessionRemoved(_ now: Int64) { due = min(due, now) }

  /// The computer slept. The session's processes get their whole time to leave after that.
  mutating func wokeUp(_ now: Int64) {
    if session.terminatedAt > 0 { session.terminatedAt = now }
  }

  /// The next step; nil if there is none before ``due``.
  func next(at now: Int64) -> LogoutAction? {
    guard due <= now else { return nil }
    switch phase {
    case .resuming, .speaking, .terminating: return .look
    case .telling: return .tellUser
    case .asking: return .askToLeave
    case .ordering: return .terminate
    case .killing: return .killIfLed
    case .emptying: return .findProcesses
    case .killingRest: return .killRest
    case .stoppingManager: return onLinger == .stop ? .stopManager : .forget
    case .forgetting: return .forget
    case .finished: return nil
    }
  }

  /// The session is about to be terminated: its processes are killed some time after this.
  mutating func willTerminate(at now: Int64) {
    if !wasAsked { session.terminatedAt = now }
  }

  /// The session's processes got a signal, or logind has taken the call.
  mutating func endsForSure() { session.isEnding = true }

  /// Takes the result of the last step.
  ///
  /// - Returns: the line for the log; nil if there is none.
  mutating func took(_ outcome: LogoutOutcome, at now: Int64) -> LogoutRemark? {
    if case .facts(let facts) = outcome, facts.isOursOrLeft, case .there(let found) = facts.sight {
      openedBy = found.service
      isDesktop = facts.isOurs && found.canLock
    }
    switch (phase, outcome) {
    case (.resuming, .facts(let facts)): return resume(facts, now)
    case (.speaking, .facts(let facts)):
      // Nothing is written to a terminal before the session is known to be the right one.
      guard facts.isOurs || facts.isRest || facts.isLed else { return terminate(facts, now) }
      phase = .telling
    case (.telling, .done):
      phase = .terminating
      // A display manager does not pass on lines.
      if !isAskedFirst, !isDesktop { due = now + Self.readingTime }
    case (.terminating, .facts(let facts)): return terminate(facts, now)
    case (.asking, .done):
      wasAsked = true
      phase = .terminating
      due = now + Self.leavingCheckInterval
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
      due = now + Self.leavingCheckInterval
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

  private mutating func resume(_ facts: LogoutFacts, _ now: Int64) -> LogoutRemark? {
    switch facts.sight {
    case .there where facts.isOurs && session.isEnding:
      phase = .emptying(kills: 0)
      return LogoutRemark(LOG_NOTICE, "goes on with a logout from before a restart: \(logText)")
    // The session was not ended yet. Its record is there, so the service is asked about it again. Without a record, the
    // user's phone is looked for again.
    case .there where facts.isOurs: phase = .forgetting
    // The leader has ended, and other processes of the session are left.
    case .there(let found) where binding.matches(found, of: session.uid, leader: .mayHaveEnded):
      phase = .emptying(kills: 0)
    case .unclear(.forgotten): phase = .emptying(kills: 0)
    // Its id is another session's now.
    case .there, .gone: stopManager()
    case .unclear(let error):
      guard session.isEnding || attempts < Self.mostAttemptsAtManager else {
        phase = .forgetting
        return nil
      }
      return retry(
        "session \(binding.logindSession), logged out before, cannot be looked at: \(error.explanation)", now)
    }
    return nil
  }

  private mutating func terminate(_ facts: LogoutFacts, _ now: Int64) -> LogoutRemark? {
    if wasAsked { return terminateAfterAsking(facts, now) }
    switch facts.sight {
    case .gone where follows: stopManager()
    case .gone: phase = .forgetting
    case .unclear(let error): return killOrRetry(error, mayBeLed: facts.isLed, now)
    case .there where facts.isOurs: phase = isAskedFirst ? .asking : .ordering
    // logind's TerminateSession has no effect on a session that is already closing.
    case .there where facts.isRest || (facts.isOursOrLeft && facts.isLed): phase = .asking
    // A leader that cannot be read just now does not prove that the session is another one.
    case .there where facts.isLeaderUnclear:
      return retry("leader of session \(binding.logindSession) cannot be looked at", now)
    // logind may not have noticed yet that its leader has ended.
    case .there where facts.isOursOrLeft && attempts < Self.attemptsBeforeKill:
      return retry("leader of session \(binding.logindSession) has ended, and logind does not close it", now)
    case .there: phase = .forgetting
    }
    return nil
  }

  /// Once its leader has gone, the rest has the same time as after any other logout.
  private mutating func terminateAfterAsking(_ facts: LogoutFacts, _ now: Int64) -> LogoutRemark? {
    let isLate = now >= session.terminatedAt + Self.leavingTime
    switch facts.sight {
    case .there where facts.isOurs && isLate: phase = .killing(nil)
    case .there where facts.isOurs: due = now + Self.leavingCheckInterval
    case .there where facts.isLeaderUnclear && !isLate: due = now + Self.leavingCheckInterval
    case .there where facts.isOursOrLeft: phase = .ordering
    // The scope's processes are killed, whether logind knows the session or not.
    case .gone: return left(now)
    case .unclear(.forgotten): return terminated("logged out \(logText)", now)
    case .unclear(let error): return retryTermination("not terminated", error, now)
    // Its id is another session's now.
    case .there: stopManager()
    }
    return nil
  }

  /// logind forgets a session whose file it could not write (a full /run), and a logind that hangs does not terminate
  /// sessions. The scope belongs to the service manager, which can still kill it.
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

  /// logind has already removed the session, and will not send a signal. What is left is read at once.
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

  /// Services of `systemd-run --user` and lingering ones outlive the session (`on_linger = keep` leaves them).
  private mutating func stopManager() {
    phase = .stoppingManager
    attempts = 0
  }

  private mutating func retryTermination(_ what: String, _ error: LogindError, _ now: Int64) -> LogoutRemark {
    // The user of a session that could not be read is told once it can be.
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
