import HostState

/// What the helper does at a session itself, beside logind.
public protocol Seat: AnyObject {
  /// Writes a line to the terminals of the session's processes. What cannot be written is left out.
  func say(_ line: String, to session: LogindSession)
  /// Makes sudo ask again; says what could not be removed.
  func dropTickets(of user: UnixUsername, uid: UInt32) -> [FileError]
  /// Whether processes of the session still run.
  func hasProcesses(_ session: LogindSession) -> Bool
}

/// The helper's log: one line an event, never with a secret.
public protocol HelperLog: AnyObject {
  /// - Parameter priority: of syslog(3).
  func write(_ priority: Int32, _ text: String)
}
