import HostState
import HostSystem

/// What the helper does at a session itself, beside logind.
public protocol Seat: AnyObject {
  /// Writes a line to the terminals of the session's processes. What cannot be written is left out.
  func say(_ line: String, inSession id: String, of uid: UInt32)
  /// Makes sudo ask again; says what could not be removed.
  func dropTickets(of user: SystemUser) -> [FileError]
  /// Whether processes of the session still run.
  func hasProcesses(inSession id: String, of uid: UInt32) -> Bool
  /// Whether this process is one of the session's; false where that cannot be known.
  func runs(_ process: ProcessIdentity, inSession id: String, of uid: UInt32) -> Bool
}

/// The session's processes, terminals and tickets on this computer.
public final class SystemSeat: Seat {
  public init() {}

  public func say(_ line: String, inSession id: String, of uid: UInt32) {
    guard let processes = try? SessionScope(id: id, uid: uid)?.processes() else { return }
    SessionTerminals().tell(line, to: processes, of: uid)
  }

  public func dropTickets(of user: SystemUser) -> [FileError] { SudoTickets.drop(of: user) }

  public func hasProcesses(inSession id: String, of uid: UInt32) -> Bool {
    guard let scope = SessionScope(id: id, uid: uid) else { return false }
    // What cannot be looked at counts: only that scope is killed for it.
    return (try? scope.processes().isEmpty) != true
  }

  public func runs(_ process: ProcessIdentity, inSession id: String, of uid: UInt32) -> Bool {
    guard let processes = try? SessionScope(id: id, uid: uid)?.processes() else { return false }
    return processes.contains(process.pid) && process.isAlive
  }
}

/// The helper's log: one line an event, never with a secret.
public protocol HelperLog: AnyObject {
  /// - Parameter priority: of syslog(3).
  func write(_ priority: Int32, _ text: String)
}
