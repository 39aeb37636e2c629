/// What is done about a session.
public enum WatchAction: Sendable, Equatable {
  case nothing
  /// The grace period begins: says so on the session's terminal.
  case warn(milliseconds: Int64)
  /// The session's time is nearly over: likewise.
  case warnOfExpiry(milliseconds: Int64)
  case logout(Cause)
  case lock(Cause)
  /// The service is asked where it stands in its history: what it says of this session depends on that.
  case askMark
  /// Nothing is done; the log says why.
  case leaveOpen(Cause)
}
