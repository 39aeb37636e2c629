import HostState

/// What is done about one logind session for each cause: what the configuration says, if the session can do it.
struct CauseTable: Sendable, Equatable {
  let policy: WatchPolicy
  /// Whether the logind session has a screen to lock, and a person may sit in front of it.
  var canLock: Bool
  var isGraphicalAtSeat: Bool
  /// Whether a session that cannot lock is logged out when its time is over.
  let endsAtExpiry: Bool

  func action(for cause: Cause) -> WatchAction {
    switch cause {
    case .administrator: return .logout(cause)
    case .walkaway: return action(policy.onWalkaway, cause, withoutScreen: .logout(cause))
    case .ended, .forgotten: return action(policy.onEnd, cause, withoutScreen: .logout(cause))
    case .expired:
      return action(policy.onExpiry, cause, withoutScreen: endsAtExpiry ? .logout(cause) : .leaveOpen(cause))
    case .unreachable:
      let usual: Configuration.EndAction = isGraphicalAtSeat ? .lock : .ignore
      return action(policy.onUnreachable ?? usual, cause, withoutScreen: .leaveOpen(cause))
    case .presence: return action(policy.onPresenceLeft, cause, withoutScreen: .leaveOpen(cause))
    case .presenceUnknown: return action(policy.onPresenceUnknown, cause, withoutScreen: .leaveOpen(cause))
    }
  }

  private func action(_ action: Configuration.EndAction, _ cause: Cause, withoutScreen: WatchAction) -> WatchAction {
    switch action {
    case .logout: .logout(cause)
    case .lock: canLock ? .lock(cause) : withoutScreen
    case .ignore: .leaveOpen(cause)
    }
  }
}
