/// What ``SessionRecord/Binding/matches(_:of:leader:)`` asks of the leader besides its number.
public enum LeaderRule: Sendable, Equatable {
  /// The leader is known to run. Needed before anything is done to a session: a process number that was given again
  /// belongs to a stranger.
  case mustRun
  /// The leader may have ended, or cannot be looked at. For what is left of a session that was logged out, and for
  /// callers that have judged the leader themselves.
  case mayHaveEnded
}

extension SessionRecord.Binding {
  /// Whether logind's session is the one that a record was bound to.
  ///
  /// logind gives a session's id again after a restart of its own, and the kernel gives process numbers again: id,
  /// leader and user must all be the record's.
  ///
  /// - Parameters:
  ///   - uid: the record's user.
  ///   - rule: `mustRun` looks at `/proc`.
  public func matches(_ session: LogindSession, of uid: UInt32, leader rule: LeaderRule) -> Bool {
    guard session.id == logindSession, session.leader == leader.pid, session.uid == uid else { return false }
    return switch rule {
    case .mustRun: leader.isAlive
    case .mayHaveEnded: true
    }
  }
}
