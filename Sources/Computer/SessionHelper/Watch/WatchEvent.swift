import IAMPASSClient
import IAMPASSProtocol

/// An event for a watched session.
public enum WatchEvent: Sendable, Equatable {
  /// `mark`: the service's position in its history.
  case answer(SessionAnswer, mark: ServiceMark? = nil)
  /// The service's position, asked for after it said that it does not know the session.
  case mark(ServiceMark?)
  /// There is no connection, or the answer is a refusal or unclear.
  case unanswered
  /// An administrator has removed the phone that opened the session from the signed list.
  case withdrawn
  /// Only time has passed.
  case nothing
  /// The computer slept: questions under way are lost, and clocks have jumped.
  case resumed
}
