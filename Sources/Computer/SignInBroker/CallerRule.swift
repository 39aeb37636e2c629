import HostState
import HostSystem

/// Why the broker does not run a sign-in for a caller. The caller does not get the reason.
public enum CallerRefusal: Error, Sendable, Equatable {
  /// The caller is not root and names another user.
  case anotherUser
  case noActiveSession
  case notListed
  case unknownUser
}

/// Who may ask for whom.
///
/// Root may name any user. A user with an active session at this computer may ask only for themselves. The session is
/// found by user, not by process: lockers of GNOME and KDE run in `user@.service`, outside of the session.
public struct CallerRule: Sendable {
  /// The caller's uid from the kernel (SO_PEERCRED, unix(7)).
  let callerUID: UInt32

  public init(callerUID: UInt32) { self.callerUID = callerUID }

  /// - Parameters:
  ///   - user: the user of the request's name; nil if the system does not know the name.
  ///   - listed: the configuration's `services`.
  ///   - sessions: gives the sessions in logind's files. It is called only if the caller is not root.
  ///   - unlocks: gives whether a caller who is not root opens a locked screen of one of these sessions. The service
  ///     need not be listed then. Nil if `unlock` is off.
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
    // The caller must not learn which names exist.
    guard let user, user.uid == callerUID else { throw .anotherUser }
    let sessions = sessions()
    guard isPresent(in: sessions) else { throw .noActiveSession }
    guard isListed || unlocks?(sessions) == true else { throw .notListed }
    return user
  }

  /// Whether a caller who is not root is at this computer. Other callers do not get a process: a user has thousands of
  /// uids in user namespaces (user_namespaces(7), subuid(5)).
  ///
  /// - Parameter sessions: the sessions in logind's files.
  public func isPresent(in sessions: [LogindSession]) -> Bool { sessions.contains { $0.isInFront(of: callerUID) } }
}

extension CallerRefusal {
  /// The reason, for the log.
  var explanation: String {
    switch self {
    case .anotherUser: "only root may ask for another user"
    case .noActiveSession: "the caller has no active session at this computer"
    case .notListed: "service not listed"
    case .unknownUser: "the system does not know the user"
    }
  }
}
