import Glibc
import HostState

/// One session on its way out: told, terminated by logind, then looked after until nothing of it is left.
///
/// Times are milliseconds after boot.
final class Departure {
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
    case speaking
    case terminating
    case emptying(kills: Int)
    case stoppingManager
    case finished
  }

  let record: SessionRecord
  let binding: SessionRecord.Binding
  let cause: Cause
  private let line: String
  private let onLinger: Configuration.LingerAction
  private var phase = Phase.speaking
  private var attempts = 0
  private var terminatedAt: Int64 = 0
  /// When the next step is due.
  private(set) var due: Int64

  init(
    _ record: SessionRecord, _ binding: SessionRecord.Binding, _ cause: Cause, line: String,
    onLinger: Configuration.LingerAction, now: Int64
  ) {
    self.record = record
    self.binding = binding
    self.cause = cause
    self.line = line
    self.onLinger = onLinger
    due = now
  }

  var isFinished: Bool { if case .finished = phase { true } else { false } }

  /// Nothing can be taken back any more.
  var hasTerminated: Bool {
    switch phase {
    case .speaking, .terminating: false
    case .emptying, .stoppingManager, .finished: true
    }
  }

  /// logind has removed the session: there is no need to wait longer.
  func sessionRemoved(_ now: Int64) { due = min(due, now) }

  func step(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, now: Int64) {
    switch phase {
    case .speaking: speak(logind, seat, log, now)
    case .terminating: terminate(logind, seat, log, now)
    case .emptying(let kills): empty(kills, logind, seat, log, now)
    case .stoppingManager: stopManager(logind, log, now)
    case .finished: break
    }
  }

  private func speak(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    // Before the session is known to be the one that is meant, nothing is written to anybody's terminal.
    guard isOurs(logind.session(binding.logindSession)) || isLed(seat) else { return terminate(logind, seat, log, now) }
    phase = .terminating
    seat.say(line, inSession: binding.logindSession, of: record.uid)
    for error in seat.dropTickets(of: record.systemUser) {
      log.write(LOG_WARNING, "sudo ticket of \(record.user) not removed: \(error.explanation)")
    }
    due = now + Self.readingTime
  }

  /// A session id or a process number that was given anew belongs to a stranger.
  private func isOurs(_ sight: SessionSight) -> Bool {
    guard case .there(let found) = sight else { return false }
    return found.leader == binding.leader.pid && found.uid == record.uid && binding.leader.isAlive
  }

  /// The scope of that id is ours by the leader in it, whatever logind knows.
  private func isLed(_ seat: any Seat) -> Bool {
    binding.leader.isAlive && seat.runs(binding.leader, inSession: binding.logindSession, of: record.uid)
  }

  private func terminate(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    let sight = logind.session(binding.logindSession)
    switch sight {
    case .gone: phase = .finished
    case .unclear(let error): killOrRetry(error, logind, seat, log, now)
    case .there:
      // A leader that cannot be looked at just now is no stranger's.
      guard isOurs(sight) else {
        return binding.leader.presence == .unknown
          ? retry("leader of session \(binding.logindSession) cannot be looked at", log, now) : finish()
      }
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
    do throws(LogindError) {
      try logind.killUnit(SessionScope.unit(of: binding.logindSession))
      log.write(LOG_NOTICE, "killed \(logText), which logind does not terminate")
      beginEmptying(now)
    } catch { retry("session \(binding.logindSession) not killed: \(error.explanation)", log, now) }
  }

  private func beginEmptying(_ now: Int64) {
    phase = .emptying(kills: 0)
    attempts = 0
    terminatedAt = now
    due = now + Self.emptyingTime
  }

  private func empty(_ kills: Int, _ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    let scope = SessionScope.unit(of: binding.logindSession)
    guard seat.hasProcesses(inSession: binding.logindSession, of: record.uid) else {
      phase = .stoppingManager
      attempts = 0
      return stopManager(logind, log, now)
    }
    let killTime = terminatedAt + Self.emptyingTime + Int64(kills) * Self.killTime
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
      if try UserManager.stopIfSignedOut(record.uid, logind) {
        log.write(LOG_NOTICE, "stopped the service manager of \(record.user), whose last session this was")
      }
      finish()
    } catch {
      guard attempts < Self.mostAttemptsAtManager else { return finish() }
      retry("service manager of \(record.user) not stopped: \(error.explanation)", log, now)
    }
  }

  private func finish() { phase = .finished }

  private func retry(_ text: String, _ log: any HelperLog, _ now: Int64) {
    log.write(LOG_ERR, text)
    due = now + min(Self.pauses.lowerBound << min(attempts, 6), Self.pauses.upperBound)
    attempts += 1
  }

  private var logText: String {
    "\(record.logName) cause=\(cause.rawValue) logind_session=\(binding.logindSession)"
  }
}

extension SessionRecord {
  var systemUser: SystemUser { SystemUser(name: user, uid: uid) }

  /// Whose record, for the log.
  var logName: String {
    let host = remoteHost.map { $0.isEmpty ? "-" : String($0.map { $0 == " " ? "?" : $0 }) } ?? "-"
    return "user=\(user) service=\(service) rhost=\(host) record=\(id)"
  }
}
