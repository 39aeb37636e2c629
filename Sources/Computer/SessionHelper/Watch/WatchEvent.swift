import IAMPASSClient
import IAMPASSProtocol

/// What a watched session learns.
public enum WatchEvent: Sendable, Equatable {
  /// `mark`: where the service stood in its history.
  case answer(SessionAnswer, mark: ServiceMark? = nil)
  /// The service's position, asked for after it said that it does not know the session.
  case mark(ServiceMark?)
  /// No connection, a refusal, anything unclear.
  case unanswered
  /// An administrator has taken the phone that opened it out of the signed list.
  case withdrawn
  /// Only time has passed.
  case nothing
  /// The machine slept: what was under way is lost, and clocks have jumped.
  case resumed
}
