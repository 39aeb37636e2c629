import HostState

/// What the helper does at a session itself, beside logind.
public protocol Seat: AnyObject {
  /// Writes a line to the terminals of the session's processes. What cannot be written is left out.
  func say(_ line: String, to session: LogindSession)
  /// Makes sudo ask again; says what could not be removed.
  func dropTickets(of user: SystemUser) -> [FileError]
  /// Whether processes of the session still run.
  func hasProcesses(_ session: LogindSession) -> Bool
}

/// The session's processes, terminals and tickets on this computer.
public final class SystemSeat: Seat {
  public init() {}

  public func say(_ line: String, to session: LogindSession) {
    guard let processes = try? SessionScope(session)?.processes() else { return }
    SessionTerminals().tell(line, to: processes, of: session.uid)
  }

  public func dropTickets(of user: SystemUser) -> [FileError] { SudoTickets.drop(of: user) }

  public func hasProcesses(_ session: LogindSession) -> Bool {
    guard let scope = SessionScope(session) else { return false }
    // What cannot be looked at counts: only that scope is killed for it.
    return (try? scope.processes().isEmpty) != true
  }
}

/// The helper's log: one line an event, never with a secret.
public protocol HelperLog: AnyObject {
  /// - Parameter priority: of syslog(3).
  func write(_ priority: Int32, _ text: String)
}
