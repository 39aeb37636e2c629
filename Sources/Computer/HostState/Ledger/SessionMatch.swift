/// What ``SessionRecord/Binding/matches(_:of:leader:)`` requires of the leader besides its number.
public enum LeaderRule: Sendable, Equatable {
  /// The leader must be running. This is required before a session is acted on: a reused process number belongs to
  /// another session.
  case mustRun
  /// The leader may have ended, or cannot be read. This is for the rest of a session that was logged out, and for
  /// callers that have checked the leader.
  case mayHaveEnded
}

extension SessionRecord.Binding {
  /// Whether logind's session is the one that a record was bound to.
  ///
  /// logind reuses session ids after its restart, and the kernel reuses process numbers. So id, leader and user must
  /// all be the record's.
  ///
  /// - Parameters:
  ///   - uid: the record's user.
  ///   - rule: `mustRun` reads `/proc`.
  public func matches(_ session: LogindSession, of uid: UInt32, leader rule: LeaderRule) -> Bool {
    guard session.id == logindSession, session.leader == leader.pid, session.uid == uid else { return false }
    return switch rule {
    case .mustRun: leader.isAlive
    case .mayHaveEnded: true
    }
  }
}
