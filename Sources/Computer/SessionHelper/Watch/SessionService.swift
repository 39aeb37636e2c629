import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The helper's connection to the service. Many questions may be under way, and answers come later.
public protocol SessionService: AnyObject {
  /// The number of a question and of its outcome.
  typealias Ticket = UInt32

  /// - Parameter mayHold: the service may hold its reply until something changes.
  func askStatus(of session: RemoteSession, mayHold: Bool) -> Ticket
  func tellEnd(of session: RemoteSession) -> Ticket
  /// Asks for the service's position in its history. A restored service has forgotten sessions, and reports them as
  /// unknown.
  func askMark() -> Ticket
  /// Asks for the users whom the service lists for this computer.
  func askUsers(_ question: UserListQuestion, mayHold: Bool) -> Ticket
  /// Reports that a recovery code was used here.
  func tellCodeUse(_ report: CodeUseReport, of token: Secret) -> Ticket
  /// Whether many questions at once need no more connections than one. If they need more, idle connections are left
  /// over, and libcurl tries each dead one with a question.
  var takesManyAtOnce: Bool { get }
  /// The outcomes since the last call. Does not wait.
  func outcomes() -> [(ticket: Ticket, outcome: ServiceOutcome)]
  /// Drops all questions under way. After a sleep their connections are dead.
  func startOver()
}

public enum ServiceOutcome: Sendable, Equatable {
  /// `mark`: the service's position in its history; nil if it does not give one.
  case answer(SessionAnswer, mark: ServiceMark? = nil)
  case mark(ServiceMark?)
  case endTold
  case users(UserListPage)
  case signedUsers(SignedListPage)
  case codeUseTold
  /// The report was accepted, and the user has disowned the use.
  case codeUseDisowned
  /// The service answers that it does not take such a report.
  case codeUseRefused
  case failed(ServiceError)
}
