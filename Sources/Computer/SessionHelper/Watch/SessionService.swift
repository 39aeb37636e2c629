import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The service, as the helper asks it: many questions under way, answers later.
public protocol SessionService: AnyObject {
  /// A question's number, by which its outcome comes.
  typealias Ticket = UInt32

  /// - Parameter mayHold: the service may wait with its reply for a change, if it can.
  func askStatus(of session: RemoteSession, mayHold: Bool) -> Ticket
  func tellEnd(of session: RemoteSession) -> Ticket
  /// Asks where the service stands in its history: one that was put back forgets sessions, and says so of them.
  func askMark() -> Ticket
  /// Asks for the users whom the service lists for this computer.
  func askUsers(_ question: UserListQuestion, mayHold: Bool) -> Ticket
  /// Reports that a code has served here.
  func tellCodeUse(_ report: CodeUseReport, of token: Secret) -> Ticket
  /// Whether many questions at once need no more connections than one. If they do, those that were made stand idle
  /// afterwards, and libcurl tries a question on each that turns out to be dead.
  var takesManyAtOnce: Bool { get }
  /// What has come since the last call. Never waits.
  func outcomes() -> [(ticket: Ticket, outcome: ServiceOutcome)]
  /// Forgets what is under way: after a sleep its connections are dead.
  func startOver()
}

public enum ServiceOutcome: Sendable, Equatable {
  /// `mark`: where the service stood in its history; nil if it does not tell.
  case answer(SessionAnswer, mark: ServiceMark? = nil)
  case mark(ServiceMark?)
  case endTold
  case users(UserListPage)
  case signedUsers(SignedListPage)
  case codeUseTold
  /// Noted, and the user says that it was somebody else.
  case codeUseDisowned
  /// The service itself says that it takes no such report.
  case codeUseRefused
  case failed(ServiceError)
}
