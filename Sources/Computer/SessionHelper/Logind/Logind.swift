import HostState

/// Whether a session is there.
public enum SessionSight: Sendable, Equatable {
  case there(LogindSession)
  /// logind knows no such session, and nothing runs of one.
  case gone
  /// logind could not be asked, or has forgotten what still runs; never taken for ``gone``.
  case unclear(LogindError)
}

/// Why logind or the service manager did not do something.
public enum LogindError: Error, Sendable, Equatable {
  /// No bus, or no answer within the bound; with what the system said.
  case notReached(String)
  /// Refused, with the D-Bus error's name and text.
  case refused(String)
  /// No such session or unit.
  case noSuchObject
  /// logind knows no session of this id, and its scope has processes.
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

/// What logind tells by itself.
public enum LogindEvent: Sendable, Equatable {
  /// Worth a look at the session; by itself no proof that it is gone.
  case sessionRemoved(String)
  /// True before the machine sleeps, false after.
  case preparesForSleep(Bool)
  /// The bus is there again, or logind was started again: signals may have been missed.
  case reconnected
}

/// A session as logind's list has it: of any class, and perhaps closing.
public struct ListedSession: Sendable, Equatable {
  public let id: String
  public let uid: UInt32
  /// As the system spelled it when the session began; not checked.
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
  /// Says what happened since the last call. Takes up a lost connection again, with growing pauses. Never waits.
  func events() -> [LogindEvent]
  func session(_ id: String) -> SessionSight
  /// All sessions, of everybody.
  func listed() throws(LogindError) -> [ListedSession]
  /// Sessions that this user signed in to and that are not closing: no greeter, user manager or background job. One
  /// that cannot be looked at counts.
  func sessions(of uid: UInt32) throws(LogindError) -> [String]
  func terminateSession(_ id: String) throws(LogindError)
  func lockSession(_ id: String) throws(LogindError)
  func lockedHint(_ id: String) throws(LogindError) -> Bool
  /// SIGTERM to all that runs in a session's scope, and no other unit; one that is gone does not count as an error.
  func endUnit(_ name: String) throws(LogindError)
  /// SIGKILL to all that is left in a session's scope, and no other unit; one that is gone does not count as an error.
  func killUnit(_ name: String) throws(LogindError)
  /// Stops a user's manager, and no other unit, without waiting for it; one that is gone does not count as an error.
  func stopUnit(_ name: String) throws(LogindError)
}
