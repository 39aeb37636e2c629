/// What is done about a session.
public enum WatchAction: Sendable, Equatable {
  case nothing
  /// The grace period begins: tells the user on the session's terminal.
  case warn(milliseconds: Int64)
  /// The session's time is nearly over: tells the user on the session's terminal.
  case warnOfExpiry(milliseconds: Int64)
  case logout(Cause)
  case lock(Cause)
  /// Asks for the service's position in its history, which decides whether its answer about the session counts.
  case askMark
  /// Asks about the session at once, by a question that the service does not hold.
  case askAgain
  /// Does nothing but write the cause to the log.
  case leaveOpen(Cause)

  /// The cause that ``CauseTable`` has an action for; nil if the action is of another kind.
  var cause: Cause? {
    switch self {
    case .logout(let cause), .lock(let cause), .leaveOpen(let cause): cause
    case .nothing, .warn, .warnOfExpiry, .askMark, .askAgain: nil
    }
  }
}
