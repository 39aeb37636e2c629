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
  /// What runs of the session besides its leader.
  func rest(ofSession id: String, of uid: UInt32, leader: ProcessIdentity) -> SessionRest
  /// Whether this process is one of the session's; false if that cannot be known.
  func runs(_ process: ProcessIdentity, inSession id: String, of uid: UInt32) -> Bool
  /// A locker in the session whose ``ServiceRow/lockSign`` is that it runs; nil without one, and if that cannot be known.
  func locker(inSession id: String, of uid: UInt32) -> RunningLocker?
}

/// A program whose running means that the screen is locked.
public struct RunningLocker: Sendable, Equatable {
  /// The name of its process, which the user can set.
  public let name: String
  public let process: ProcessIdentity

  public init(name: String, process: ProcessIdentity) {
    self.name = name
    self.process = process
  }
}
