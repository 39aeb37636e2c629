import HostState
import HostSystem

/// Why the broker runs no sign-in for a caller. The caller is not told which.
public enum CallerRefusal: Error, Sendable, Equatable {
  /// The caller is not root and names another user.
  case anotherUser
  case noActiveSession
  case notListed
  case unknownUser
}

/// Who may ask for whom.
///
/// Root may name anyone. A user with an active session at this computer may ask for themselves alone. The session is
/// looked for by user, not by process: lockers of GNOME and KDE run in `user@.service`, outside of the session.
public struct CallerRule: Sendable {
  /// As the kernel says (SO_PEERCRED, unix(7)).
  let callerUID: UInt32

  public init(callerUID: UInt32) { self.callerUID = callerUID }

  /// - Parameters:
  ///   - user: whom the system knows by the request's name; nil if it knows nobody.
  ///   - listed: `services` of the configuration.
  ///   - sessions: what logind wrote down. Asked only for a caller who is not root.
  ///   - unlocks: whether a caller who is not root opens a locked screen of one of these sessions, so that the service
  ///     need not be listed; nil if `unlock` is off.
  public func check(
    _ user: SystemUser?, service: String, listed: [String], sessions: () -> [LogindSession],
    unlocks: (([LogindSession]) -> Bool)? = nil
  ) throws(CallerRefusal) -> SystemUser {
    let isListed = listed.contains(service)
    guard isListed || (callerUID != 0 && unlocks != nil) else { throw .notListed }
    guard callerUID != 0 else {
      guard let user else { throw .unknownUser }
      return user
    }
    // A stranger does not learn which names exist.
    guard let user, user.uid == callerUID else { throw .anotherUser }
    let sessions = sessions()
    guard isPresent(in: sessions) else { throw .noActiveSession }
    guard isListed || unlocks?(sessions) == true else { throw .notListed }
    return user
  }

  /// Whether a caller who is not root is at this computer. Nobody else gets a process of the broker: users of a user
  /// namespace have thousands of uids to call from (user_namespaces(7), subuid(5)).
  ///
  /// - Parameter sessions: what logind wrote down.
  public func isPresent(in sessions: [LogindSession]) -> Bool { sessions.contains { $0.isInFront(of: callerUID) } }
}

extension CallerRefusal {
  /// For the log.
  var explanation: String {
    switch self {
    case .anotherUser: "only root may ask for another user"
    case .noActiveSession: "the caller has no active session at this computer"
    case .notListed: "service not listed"
    case .unknownUser: "the system does not know the user"
    }
  }
}
