import Glibc
import HostState
import HostSystem

/// The logouts under way: takes each next step of ``SessionLogout``.
///
/// Times are milliseconds after boot.
final class SessionLogouts {
  /// The most logouts in one turn: logind may take 2 s for each, and the watchdog gets its sign of life only between
  /// turns.
  private static let mostATurn = 4

  private let kept: LeavingSessions
  private let logind: any Logind
  private let seat: any Seat
  private let log: any HelperLog
  private var logouts: [SessionLogout] = []

  /// - Parameter kept: the logouts that the next helper goes on with if this one ends.
  init(kept: LeavingSessions, logind: any Logind, seat: any Seat, log: any HelperLog) {
    self.kept = kept
    self.logind = logind
    self.seat = seat
    self.log = log
  }

  /// When the next step is due.
  var due: Int64? { logouts.map(\.due).min() }

  /// Begins to log a record's session out; does nothing if its logout has begun.
  func begin(_ watched: WatchedRecord, _ cause: Cause, _ setup: SupervisorSetup, _ now: Int64) {
    guard let binding = watched.record.binding else { return }
    begin(LeavingSession(watched.record, binding), rest: watched.rest, cause, setup, now)
  }

  /// Begins to log a session out, with a record or without; does nothing if this helper has begun its logout.
  ///
  /// - Parameter rest: one of the processes that the session's host has left.
  func begin(
    _ session: LeavingSession, rest: ProcessIdentity? = nil, _ cause: Cause, _ setup: SupervisorSetup, _ now: Int64
  ) {
    var follows = false
    if let index = logouts.firstIndex(where: { $0.session.id == session.id }) {
      // The note of a helper before this one decides nothing about a session that still runs, and this does.
      guard logouts[index].isResuming else { return }
      logouts.remove(at: index)
      follows = true
    }
    var logout = SessionLogout(
      session, rest: rest, cause, line: "Signed out: \(cause.words(setup.policy)).", onLinger: setup.onLinger,
      follows: follows, now: now)
    // Each user is told at once. What follows takes its turn: many sessions may end together.
    while logout.isToTell, step(&logout, now) {}
    logouts.append(logout)
  }

  /// Goes on with the logouts of a helper that was ended.
  func resume(_ onLinger: Configuration.LingerAction, _ now: Int64) {
    do throws(LedgerError) {
      for id in try kept.ids() { resume(id, onLinger, now) }
    } catch { log.write(LOG_ERR, "logouts that were begun cannot be listed: \(error.explanation)") }
  }

  private func resume(_ id: String, _ onLinger: Configuration.LingerAction, _ now: Int64) {
    do throws(LedgerError) {
      logouts.append(SessionLogout(resuming: try kept.read(id), onLinger: onLinger, now: now))
    } catch { log.write(LOG_WARNING, "logout \(id), begun before, is left as it is: \(error.explanation)") }
  }

  /// Stops a record's logout that was begun for one of these causes, unless logind was already called.
  ///
  /// - Returns: the causes of what was stopped.
  func callOff(_ id: String, _ causes: Set<Cause>) -> Set<Cause> { callOff(causes) { $0.id == id } }

  /// Stops all of a user's logouts that were begun for one of these causes, unless logind was already called.
  ///
  /// - Returns: the causes of what was stopped.
  func callOff(_ user: UnixUsername, _ causes: Set<Cause>) -> Set<Cause> { callOff(causes) { $0.user == user } }

  /// Stops the logout of a session whose record another one has replaced, unless logind was already called.
  func callOff(_ binding: SessionRecord.Binding, renewedBy id: String, _ causes: Set<Cause>) {
    _ = callOff(causes) { $0.binding == binding && $0.id != id }
  }

  private func callOff(_ causes: Set<Cause>, where matches: (LeavingSession) -> Bool) -> Set<Cause> {
    var stopped: Set<Cause> = []
    logouts.removeAll { logout in
      guard matches(logout.session), let cause = logout.cause, causes.contains(cause), !logout.hasTerminated else {
        return false
      }
      forget(logout.session.id)
      stopped.insert(cause)
      return true
    }
    return stopped
  }

  /// Whether a logout of the user's can still be called off.
  func hasWaiting(_ user: UnixUsername) -> Bool {
    logouts.contains { $0.session.user == user && !$0.hasTerminated }
  }

  /// logind has removed a session.
  func sessionRemoved(_ logindSession: String, _ now: Int64) {
    for index in logouts.indices where logouts[index].isOf(logindSession) { logouts[index].sessionRemoved(now) }
  }

  /// The computer slept.
  func wokeUp(_ now: Int64) {
    for index in logouts.indices { logouts[index].wokeUp(now) }
  }

  /// Takes the steps that are due.
  func turn(_ now: Int64) {
    // The one that waits longest comes first. A turn in which logind hangs lasts longer than the pause after a failure:
    // the same four would have every turn.
    let due = logouts.indices.filter { logouts[$0].due <= now }.sorted { logouts[$0].due < logouts[$1].due }
    for index in due.prefix(Self.mostATurn) {
      perform(&logouts[index], now)
    }
    logouts.removeAll(where: \.isFinished)
  }

  private func perform(_ logout: inout SessionLogout, _ now: Int64) {
    while step(&logout, now) {}
  }

  /// - Returns: false if no step is due.
  private func step(_ logout: inout SessionLogout, _ now: Int64) -> Bool {
    guard let action = logout.next(at: now) else { return false }
    let outcome = perform(action, &logout, now)
    if let remark = logout.took(outcome, at: now) { log.write(remark.priority, remark.text) }
    return true
  }

  private func perform(_ action: LogoutAction, _ logout: inout SessionLogout, _ now: Int64) -> LogoutOutcome {
    let session = logout.session
    let id = session.binding.logindSession
    do throws(LogindError) {
      switch action {
      case .look: return .facts(look(at: logout))
      case .tellUser: tell(logout.line, session)
      case .askToLeave:
        logout.willTerminate(at: now)
        keep(logout.session)
        try logind.endUnit(SessionScope.unit(of: id))
        noteEnd(&logout)
      case .terminate:
        logout.willTerminate(at: now)
        keep(logout.session)
        try logind.terminateSession(id)
        noteEnd(&logout)
      case .killIfLed:
        guard isLed(logout) else { return .notLed }
        logout.willTerminate(at: now)
        keep(logout.session)
        try logind.killUnit(SessionScope.unit(of: id))
        noteEnd(&logout)
      case .findProcesses: return .processes(areThere: seat.hasProcesses(inSession: id, of: session.uid))
      case .killRest: try logind.killUnit(SessionScope.unit(of: id))
      case .stopManager: return .stopped(try UserManager.stopIfSignedOut(session.uid, logind))
      case .forget: forget(session.id)
      }
      return .done
    } catch { return .failed(error) }
  }

  private func look(at logout: SessionLogout) -> LogoutFacts {
    let session = logout.session
    let binding = session.binding
    let sight = logind.session(binding.logindSession)
    var isOurs = false
    var isOursOrLeft = false
    var isRest = false
    if case .there(let found) = sight {
      isOurs = binding.matches(found, of: session.uid, leader: .mustRun)
      isOursOrLeft = binding.matches(found, of: session.uid, leader: .mayHaveEnded)
      isRest = binding.isRest(found, of: session.uid)
    }
    return LogoutFacts(
      sight: sight, isOurs: isOurs, isOursOrLeft: isOursOrLeft, isRest: isRest,
      isLed: !isOurs && isLed(logout), isLeaderUnclear: binding.leader.presence == .unknown)
  }

  private func isLed(_ logout: SessionLogout) -> Bool {
    let session = logout.session
    return [session.binding.leader, logout.rest].compactMap { $0 }.contains {
      $0.isAlive && seat.runs($0, inSession: session.binding.logindSession, of: session.uid)
    }
  }

  private func tell(_ line: String, _ session: LeavingSession) {
    seat.say(line, inSession: session.binding.logindSession, of: session.uid)
    for error in seat.dropTickets(of: session.systemUser) {
      log.write(LOG_WARNING, "sudo ticket of \(session.user) not removed: \(error.explanation)")
    }
  }

  /// Writes a note for the next helper, in case this one is ended. If the note cannot be written, the logout goes on
  /// without it.
  private func keep(_ session: LeavingSession) {
    do throws(LedgerError) { try kept.write(session) } catch {
      log.write(LOG_WARNING, "logout not noted: \(session.logName): \(error.explanation)")
    }
  }

  /// Notes that the session ends for sure. If it has a record, the next helper goes by that.
  private func noteEnd(_ logout: inout SessionLogout) {
    guard !logout.session.hasRecord else { return }
    logout.endsForSure()
    keep(logout.session)
  }

  /// If the note stays, the next helper finds that its logout is over.
  private func forget(_ id: String) {
    do throws(LedgerError) { try kept.remove(id) } catch {
      log.write(LOG_WARNING, "note of logout \(id) not removed: \(error.explanation)")
    }
  }
}
