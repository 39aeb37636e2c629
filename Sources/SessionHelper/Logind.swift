import HostState

/// What logind says of one session (org.freedesktop.login1(5), Session objects).
public struct LogindSession: Sendable, Equatable {
  public let id: String
  public let leader: Int32
  public let uid: UInt32
  /// `user`, `greeter`, `manager`, …
  public let sessionClass: String
  /// `tty`, `x11`, `wayland`, `unspecified`, …
  public let type: String
  public let isRemote: Bool
  /// Empty where it has none.
  public let seat: String
  /// Unit of its processes, `session-3.scope`.
  public let scope: String

  public init(
    id: String, leader: Int32, uid: UInt32, sessionClass: String, type: String, isRemote: Bool, seat: String,
    scope: String
  ) {
    self.id = id
    self.leader = leader
    self.uid = uid
    self.sessionClass = sessionClass
    self.type = type
    self.isRemote = isRemote
    self.seat = seat
    self.scope = scope
  }

  /// Only these have a screen to lock; for others LockSession returns success and nothing happens.
  public var canLock: Bool { !isRemote && ["x11", "wayland", "mir"].contains(type) }

  /// Someone sits in front of it: who pulls the network cable must not stay signed in.
  public var isGraphicalAtSeat: Bool { canLock && !seat.isEmpty }
}

/// Whether a session is there.
public enum SessionSight: Sendable, Equatable {
  case there(LogindSession)
  /// logind knows no such session.
  case gone
  /// logind could not be asked; never taken for ``gone``.
  case unclear(LogindError)
}

/// Why logind or the service manager did not do something.
public enum LogindError: Error, Sendable, Equatable {
  /// No bus, or no answer within the bound; with what the system said.
  case notReached(String)
  /// Refused, with the D-Bus error's name.
  case refused(String)
  /// No such session or unit.
  case noSuchObject
}

/// What logind tells by itself.
public enum LogindEvent: Sendable, Equatable {
  case sessionRemoved(String)
  /// True before the machine sleeps, false after.
  case preparesForSleep(Bool)
  /// The bus was lost or came back: signals may have been missed.
  case reconnected
}

/// logind and the service manager, as the helper needs them. No call takes longer than 2 s.
public protocol Logind: AnyObject {
  /// Says what happened since the last call. Takes up a lost connection again, with growing pauses. Never waits.
  func events() -> [LogindEvent]
  func session(_ id: String) -> SessionSight
  /// Sessions of this user, class `user` alone, that are not closing.
  func sessions(of uid: UInt32) throws(LogindError) -> [String]
  func terminateSession(_ id: String) throws(LogindError)
  func lockSession(_ id: String) throws(LogindError)
  func lockedHint(_ id: String) throws(LogindError) -> Bool
  /// SIGKILL to all that is left in the unit; a unit that is gone is no error.
  func killUnit(_ name: String) throws(LogindError)
  /// Stops a unit without waiting for it; one that is gone is no error.
  func stopUnit(_ name: String) throws(LogindError)
}
