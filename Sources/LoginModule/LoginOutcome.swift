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
}

extension Refusal {
  /// Whether the phone was asked before this ending: one request is enough for a connection.
  var followsARequest: Bool {
    switch self {
    case .denied, .notAnswered, .endedWhileWaiting, .interrupted, .recordNotKept, .unavailable: true
    case .notDecided, .passwordTyped, .textAtSecondFactor, .noToken, .noPhone, .notStarted, .commandNotRead,
      .commandTooLong, .tooManyRequests, .limiterBroken, .serviceNotListed, .misconfigured, .terminalGone,
      .promptNotAnswered:
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

  /// The line for the user; nil where there is nothing to say.
  public var message: String? {
    switch self {
    case .notDecided, .passwordTyped, .noToken, .serviceNotListed, .misconfigured(.noServer), .terminalGone,
      .promptNotAnswered:
      nil
    case .denied: "IAMPASS: denied on your phone"
    case .notAnswered: "IAMPASS: not answered in time. Use your password."
    case .endedWhileWaiting(let status, let reason):
      "IAMPASS: not approved (\(DisplayText.sanitized(reason ?? status.word, limit: 100))). Use your password."
    case .textAtSecondFactor: "IAMPASS: press Enter only; approve on your phone"
    case .noPhone: "IAMPASS: no phone is registered for you. Use your password."
    case .notStarted(let reason):
      "IAMPASS: not asked\(Self.meaning(of: reason))"
        + " (\(DisplayText.sanitized(reason ?? "no reason given", limit: 100))). Use your password."
    case .commandNotRead: "IAMPASS: not asked: your command cannot be read, so it cannot be shown. Use your password."
    case .commandTooLong: "IAMPASS: not asked: your command is too long for the phone to show. Use your password."
    case .tooManyRequests: "IAMPASS: too many requests went unanswered; try again later. Use your password."
    case .limiterBroken: "IAMPASS: not available (cannot count requests). Use your password."
    case .unavailable(let error): "IAMPASS: server not reachable (\(error.explanation)). Use your password."
    case .recordNotKept: "IAMPASS: not available (cannot keep a record). Use your password."
    case .misconfigured: "IAMPASS is not configured; ask your administrator. Use your password."
    case .interrupted: "IAMPASS: cancelled"
    }
  }

  /// What a service's word for not asking means to the user; nothing where this version does not know it.
  private static func meaning(of reason: String?) -> String {
    switch reason {
    case "METHOD_NOT_AVAILABLE": ": your phone cannot answer in the way that is wanted here"
    case "SOURCE_BLOCKED": ": you said on your phone that a request from here was not yours"
    case "TOO_MANY_DENIALS": ": denied too often, try again later"
    case "REQUEST_PENDING": ": your phone has an open request already"
    case "APPLICATION_DISABLED": ": sign-in by phone is switched off"
    case "CONTEXT_REQUIRED": ": this computer does not say who asks, see send_context"
    default: ""
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
    }
  }
}

extension ServiceError {
  /// What the system said beneath, for the log.
  fileprivate var detail: String {
    guard case .transport(let error) = self, !error.detail.isEmpty else { return "" }
    return " (\(DisplayText.sanitized(error.detail, limit: 120)))"
  }
}
