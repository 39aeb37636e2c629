import HostState
import HostSystem

/// What the helper does to a session without logind.
public protocol Seat: AnyObject {
  /// Writes a line to the terminals of the session's processes. Terminals that take nothing are skipped.
  func say(_ line: String, inSession id: String, of uid: UInt32)
  /// Removes the user's sudo tickets, so that sudo asks again. Returns the files that could not be removed.
  func dropTickets(of user: SystemUser) -> [FileError]
  /// Whether processes of the session still run.
  func hasProcesses(inSession id: String, of uid: UInt32) -> Bool
  /// The session's processes besides its leader.
  func rest(ofSession id: String, of uid: UInt32, leader: ProcessIdentity) -> SessionRest
  /// Whether this process belongs to the session; false if that is not known.
  func runs(_ process: ProcessIdentity, inSession id: String, of uid: UInt32) -> Bool
  /// A running locker in the session, if a running process is its ``ServiceRow/lockSign``; nil if there is none, if its
  /// options leave the screen open, or if that is not known.
  func locker(inSession id: String, of uid: UInt32) -> RunningLocker?
}

/// A program that runs only while the screen is locked.
public struct RunningLocker: Sendable, Equatable {
  /// The name of its process, which the user can set.
  public let name: String
  public let process: ProcessIdentity

  public init(name: String, process: ProcessIdentity) {
    self.name = name
    self.process = process
  }
}
