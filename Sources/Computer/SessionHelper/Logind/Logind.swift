import HostState

/// Whether a session is there.
public enum SessionSight: Sendable, Equatable {
  case there(LogindSession)
  /// logind does not know the session, and none of its processes runs.
  case gone
  /// logind could not be asked, or has forgotten a session whose processes still run. This is not taken for ``gone``.
  case unclear(LogindError)
}

/// Why logind or the service manager did not do something.
public enum LogindError: Error, Sendable, Equatable {
  /// There is no bus, or no answer within 2 s. Has the system's words.
  case notReached(String)
  /// The call was refused. Has the D-Bus error's name and text.
  case refused(String)
  /// The session or unit does not exist.
  case noSuchObject
  /// logind does not know the session of this id, but its scope has processes.
  case forgotten(String)

  public var explanation: String {
    switch self {
    case .notReached(let reason): "system bus: \(reason)"
    case .refused(let reason): reason
    case .noSuchObject: "no such session or unit"
    case .forgotten(let id): "logind has forgotten session \(id), which still runs"
    }
  }
}

/// What logind's signals say.
public enum LogindEvent: Sendable, Equatable {
  /// logind says that a session was removed. The session must be read again: the signal does not prove that it is gone.
  case sessionRemoved(String)
  /// True before the computer sleeps, false after it.
  case preparesForSleep(Bool)
  /// The bus is connected again, or logind was restarted. Signals may have been missed.
  case reconnected
}

/// A session in logind's list. It may be of any class, and may be closing.
public struct ListedSession: Sendable, Equatable {
  public let id: String
  public let uid: UInt32
  /// The name as the system spelled it when the session began. It is not checked.
  public let user: String
  /// Empty if the session has none.
  public let seat: String

  public init(id: String, uid: UInt32, user: String, seat: String) {
    self.id = id
    self.uid = uid
    self.user = user
    self.seat = seat
  }
}

/// logind and the service manager, as the helper needs them. No call takes longer than 2 s.
public protocol Logind: AnyObject {
  /// The events since the last call. Connects again if the connection was lost, with growing pauses. Does not wait.
  func events() -> [LogindEvent]
  func session(_ id: String) -> SessionSight
  /// The sessions of all users.
  func listed() throws(LogindError) -> [ListedSession]
  /// Ids of the sessions that this user signed in to and that are not closing. Greeters, user managers and background
  /// jobs do not count. A session that cannot be read counts.
  func sessions(of uid: UInt32) throws(LogindError) -> [String]
  func terminateSession(_ id: String) throws(LogindError)
  func lockSession(_ id: String) throws(LogindError)
  func lockedHint(_ id: String) throws(LogindError) -> Bool
  /// Sends SIGTERM to all processes in a session's scope. It refuses other units. A scope that is gone does not count
  /// as an error.
  func endUnit(_ name: String) throws(LogindError)
  /// Sends SIGKILL to all processes in a session's scope. It refuses other units. A scope that is gone does not count
  /// as an error.
  func killUnit(_ name: String) throws(LogindError)
  /// Stops a user's service manager, without waiting for its end. It refuses other units. A manager that is gone does
  /// not count as an error.
  func stopUnit(_ name: String) throws(LogindError)
}
