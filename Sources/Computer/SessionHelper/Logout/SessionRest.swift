import Glibc
import HostState
import HostSystem

/// The processes in a session's scope besides the leader, once the session's host has closed it or has ended. They are
/// tmux, mosh-server or a job in the background.
public enum SessionRest: Sendable, Equatable {
  case nothing
  /// Only processes without a terminal; this is one of them.
  case withoutTerminal(ProcessIdentity)
  /// This process has a terminal: somebody may go on working there.
  case onTerminal(ProcessIdentity)
  /// The scope or a process in it cannot be read.
  case unclear

  /// One of the processes. When it ends, the session is read again.
  var process: ProcessIdentity? {
    switch self {
    case .nothing, .unclear: nil
    case .withoutTerminal(let process), .onTerminal(let process): process
    }
  }

  /// Whether the session is still watched because of it. Jobs without a terminal go unwatched only with `on_linger =
  /// keep`.
  func keepsWatch(_ onLinger: Configuration.LingerAction) -> Bool {
    switch self {
    case .nothing: false
    case .withoutTerminal: onLinger == .stop
    case .onTerminal, .unclear: true
    }
  }
}

extension SessionRest {
  /// - Parameter processes: the scope's processes. The leader may be among them.
  init(of processes: [Int32], leader: ProcessIdentity, terminals: SessionTerminals = SessionTerminals()) {
    var isUnclear = false
    var job: ProcessIdentity?
    for pid in processes.sorted() {
      guard let process = ProcessIdentity(pid: pid) else {
        // The process has ended meanwhile, or /proc cannot be read.
        if kill(pid, 0) == 0 || errno != ESRCH { isUnclear = true }
        continue
      }
      guard process != leader, process.presence != .gone else { continue }
      if terminals.has(pid) {
        self = .onTerminal(process)
        return
      }
      job = job ?? process
    }
    self = isUnclear ? .unclear : job.map { .withoutTerminal($0) } ?? .nothing
  }
}

extension SessionRecord.Binding {
  /// Whether logind's session is the rest of the session that a record was bound to. Its leader has ended, and logind
  /// keeps it as `closing` because processes run in its scope.
  ///
  /// A later session whose leader has the same number is not closing, or has a living leader of its own.
  func isRest(_ session: LogindSession, of uid: UInt32) -> Bool {
    session.isClosing && session.scope == SessionScope.unit(of: session.id) && leader.presence == .gone
      && matches(session, of: uid, leader: .mayHaveEnded)
  }
}
