import Glibc
import HostState

/// One session on its way out: terminated by logind, then looked after until nothing of it is left.
///
/// Times are milliseconds after boot.
final class Departure {
  /// What still runs after this time is killed.
  private static let emptyingTime: Int64 = 5_000
  /// Between two attempts to reach logind, in growing steps.
  private static let pauses: ClosedRange<Int64> = 500...30_000
  private static let mostKills = 3
  /// sshd and terminal programs pass the line on before they are ended themselves.
  private static let readingTime: Int64 = 50
  /// A logind that does not know a session may know it a moment later.
  private static let attemptsBeforeKill = 3
  /// Between a kill and the look whether it worked.
  private static let killTime: Int64 = 500

  private enum Phase {
    case terminating
    case emptying(kills: Int)
    case finished
  }

  let record: SessionRecord
  let binding: SessionRecord.Binding
  let cause: Cause
  private let line: String
  private let onLinger: Configuration.LingerAction
  private var phase = Phase.terminating
  private var pause = pauses.lowerBound
  private var attempts = 0
  private var hasSpoken = false
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

  /// logind has removed the session: there is no need to wait longer.
  func sessionRemoved(_ now: Int64) { due = min(due, now) }

  func step(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, now: Int64) {
    switch phase {
    case .terminating: terminate(logind, seat, log, now)
    case .emptying(let kills): empty(kills, logind, seat, log, now)
    case .finished: break
    }
  }

  private func terminate(_ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    switch logind.session(binding.logindSession) {
    case .gone: phase = .finished
    case .unclear(let error): unclear(error, logind, seat, log, now)
    case .there(let found):
      // A session id or a process number that was given anew belongs to a stranger.
      guard found.leader == binding.leader.pid, found.uid == record.uid, binding.leader.isAlive else {
        phase = .finished
        return
      }
      guard hasSpoken else { return speak(to: found, seat, log, now) }
      do throws(LogindError) {
        try logind.terminateSession(found.id)
        log.write(LOG_NOTICE, "logged out \(record.logName) cause=\(cause.rawValue) logind_session=\(found.id)")
        beginEmptying(now)
      } catch { retry("session \(found.id) not terminated: \(error.explanation)", log, now) }
    }
  }

  /// logind forgets a session whose file it could not write (a full /run), and terminates it no more; its scope is still
  /// known by the leader in it.
  private func unclear(
    _ error: LogindError, _ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64
  ) {
    let id = binding.logindSession
    guard attempts >= Self.attemptsBeforeKill, binding.leader.isAlive,
      seat.runs(binding.leader, inSession: id, of: record.uid)
    else { return retry("cannot look at session \(id): \(error.explanation)", log, now) }
    do throws(LogindError) {
      try logind.killUnit(SessionScope.unit(of: id))
      log.write(LOG_NOTICE, "killed \(record.logName) cause=\(cause.rawValue): logind has forgotten session \(id)")
      beginEmptying(now)
    } catch { retry("session \(id) not killed: \(error.explanation)", log, now) }
  }

  private func beginEmptying(_ now: Int64) {
    phase = .emptying(kills: 0)
    terminatedAt = now
    due = now + Self.emptyingTime
  }

  private func speak(to session: LogindSession, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    hasSpoken = true
    seat.say(line, to: session)
    for error in seat.dropTickets(of: record.systemUser) {
      log.write(LOG_WARNING, "sudo ticket of \(record.user) not removed: \(error.explanation)")
    }
    due = now + Self.readingTime
  }

  private func empty(_ kills: Int, _ logind: any Logind, _ seat: any Seat, _ log: any HelperLog, _ now: Int64) {
    let scope = SessionScope.unit(of: binding.logindSession)
    guard seat.hasProcesses(inSession: binding.logindSession, of: record.uid) else {
      stopManagerOfLastSession(logind, log)
      phase = .finished
      return
    }
    let killTime = terminatedAt + Self.emptyingTime + Int64(kills) * Self.killTime
    guard now >= killTime else {
      due = killTime
      return
    }
    guard kills < Self.mostKills else {
      log.write(LOG_ERR, "processes are left in \(scope)")
      phase = .finished
      return
    }
    do throws(LogindError) {
      try logind.killUnit(scope)
      log.write(LOG_NOTICE, "killed what was left in \(scope)")
    } catch { log.write(LOG_ERR, "\(scope) not killed: \(error.explanation)") }
    phase = .emptying(kills: kills + 1)
    due = killTime + Self.killTime
  }

  /// `systemd-run --user` and lingering services outlive the session (`on_linger = keep` leaves them).
  private func stopManagerOfLastSession(_ logind: any Logind, _ log: any HelperLog) {
    guard onLinger == .stop else { return }
    do throws(LogindError) {
      if try UserManager.stopIfSignedOut(record.uid, logind) {
        log.write(LOG_NOTICE, "stopped the service manager of \(record.user), whose last session this was")
      }
    } catch { log.write(LOG_WARNING, "service manager of \(record.user) not stopped: \(error.explanation)") }
  }

  private func retry(_ text: String, _ log: any HelperLog, _ now: Int64) {
    log.write(LOG_ERR, text)
    attempts += 1
    due = now + pause
    pause = min(pause * 2, Self.pauses.upperBound)
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
