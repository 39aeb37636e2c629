import HostState
import IAMPASSClient
import IAMPASSProtocol

/// How a sign-in by phone ended.
public enum LoginOutcome: Sendable {
  case approved(SignIn)
  case refused(Refusal)
}

/// An approved sign-in.
public struct SignIn: Sendable {
  public let session: ActiveSession
  /// Nil where no record could be kept, and the session needs none.
  public let record: SessionRecord?
}

/// Why nobody was signed in by phone. Each has its PAM code in `PAMAnswer.swift`.
public enum Refusal: Error, Sendable, Equatable {
  /// Where every attempt begins.
  case notDecided
  case denied
  case notAnswered
  /// The service ended the request: `failed`, `closed`, `walkaway` or a word that this version does not know.
  case endedWhileWaiting(SessionStatus, reason: String?)
  /// A password was typed at our prompt, for the next module.
  case passwordTyped
  /// Twice an empty answer came before anybody could have read the question.
  case answeredByNobody
  /// Something was typed where only Enter was asked for.
  case textAtSecondFactor
  case noToken
  case noPhone
  /// The service did not start the request, with its reason as received.
  case notStarted(reason: String?)
  /// `send_command = yes`, and the command line cannot be read.
  case commandNotRead
  /// `long_command = refuse`, and the phone would not show all of the command.
  case commandTooLong
  case tooManyRequests
  case limiterBroken(FileError)
  case serviceNotListed
  case unavailable(ServiceError)
  /// The session would have to be watched, and no record can be kept of it.
  case recordNotKept(LedgerError)
  case misconfigured(Misconfiguration)
  case interrupted
  case terminalGone
  /// The prompt was answered by nothing (NULL).
  case promptNotAnswered
  /// PAM_USER is not the name any more that the phone approved for.
  case userChanged
}

extension Refusal {
  /// Whether the phone was asked before this ending: one request is enough for a connection.
  var followsARequest: Bool {
    switch self {
    case .denied, .notAnswered, .endedWhileWaiting, .interrupted, .recordNotKept, .unavailable, .userChanged: true
    case .notDecided, .passwordTyped, .answeredByNobody, .textAtSecondFactor, .noToken, .noPhone, .notStarted,
      .commandNotRead, .commandTooLong, .tooManyRequests, .limiterBroken, .serviceNotListed, .misconfigured,
      .terminalGone, .promptNotAnswered:
      false
    }
  }

  /// Whether the phone can have rung although the request did not start: where that is unclear, it counts as rung.
  var mayHaveRung: Bool {
    switch self {
    case .noPhone, .notStarted: false
    case .unavailable(.transport(let error)): error.code.mayHaveArrived
    case .unavailable(.notAccepted), .unavailable(.clockDiffers), .unavailable(.notFound), .unavailable(.redirected),
      .unavailable(.noRandomness):
      false
    default: true
    }
  }

  /// A few words for the log.
  public var explanation: String {
    switch self {
    case .notDecided: "not decided"
    case .denied: "denied on the phone"
    case .notAnswered: "not answered in time"
    case .endedWhileWaiting(let status, let reason):
      "ended by the service: " + DisplayText.sanitized(status.word + (reason.map { " \($0)" } ?? ""), limit: 100)
    case .passwordTyped: "password typed instead"
    case .answeredByNobody: "answered before anybody could read the question"
    case .textAtSecondFactor: "text typed instead of Enter"
    case .noToken: "user has no token"
    case .noPhone: "no phone registered"
    case .notStarted(let reason): "not started: " + DisplayText.sanitized(reason ?? "no reason given", limit: 100)
    case .commandNotRead: "the command line cannot be read (send_command = yes)"
    case .commandTooLong:
      "the command has more than \(SignInContext.greatestValueLength) characters (long_command = refuse)"
    case .tooManyRequests: "too many requests"
    case .limiterBroken(let error): "cannot count requests: \(error.explanation)"
    case .serviceNotListed: "service not listed"
    case .unavailable(let error): "unavailable: \(error.explanation)\(error.detail)"
    case .recordNotKept(let error): "cannot keep a record: \(error.explanation)"
    case .misconfigured(let error): error.explanation
    case .interrupted: "interrupted"
    case .terminalGone: "terminal gone"
    case .promptNotAnswered: "prompt not answered"
    case .userChanged: "the user's name changed while the phone was asked"
    }
  }
}

extension ServiceError {
  /// What the system said beneath, for the log.
  fileprivate var detail: String {
    switch self {
    case .transport(let error) where !error.detail.isEmpty: " (\(DisplayText.sanitized(error.detail, limit: 120)))"
    case .badReply(.refused(let reason?)): " (\(DisplayText.sanitized(reason, limit: 100)))"
    default: ""
    }
  }
}
