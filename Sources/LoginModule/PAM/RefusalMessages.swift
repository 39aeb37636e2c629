import HostState
import IAMPASSClient
import IAMPASSProtocol

extension Refusal {
  /// Said once where a user's sudo waits for the end of the request of another sudo.
  static let waitsForOwn = "Your phone has another request of yours; this one waits until that has ended"

  /// The line for the user; nil where there is nothing to say.
  ///
  /// Plain words: what the service calls its reasons stands in the log.
  public var message: String? {
    switch self {
    case .notDecided, .passwordTyped, .noToken, .serviceNotListed, .misconfigured(.noServer), .terminalGone,
      .promptNotAnswered:
      nil
    case .denied: "IAMPASS: denied on your phone"
    case .notAnswered: "IAMPASS: not answered in time. Use your password."
    case .answeredByNobody:
      "IAMPASS: the answer came faster than anybody types, so your phone was not asked. Use your password."
    case .endedWhileWaiting(let status, let reason):
      "IAMPASS: not approved: \(ReasonWord.text(of: reason) ?? Self.meaning(of: status)). Use your password."
    case .textAtSecondFactor: "IAMPASS: press Enter only; approve on your phone"
    case .noPhone: "IAMPASS: no phone is registered for you. Use your password."
    case .notStarted(let reason):
      "IAMPASS: not asked: "
        + (ReasonWord.text(of: reason) ?? "the server gives no reason that this computer understands")
        + ". Use your password."
    case .commandNotRead: "IAMPASS: not asked: your command cannot be read, so it cannot be shown. Use your password."
    case .commandTooLong: "IAMPASS: not asked: your command is too long for the phone to show. Use your password."
    case .tooManyRequests: "IAMPASS: too many requests went unanswered; try again later. Use your password."
    case .limiterBroken: "IAMPASS: not available (cannot count requests). Use your password."
    case .unavailable(let error): "IAMPASS: \(error.sentence). Use your password."
    case .recordNotKept: "IAMPASS: not available (cannot keep a record). Use your password."
    case .misconfigured: "IAMPASS is not configured; ask your administrator. Use your password."
    case .interrupted: "IAMPASS: cancelled"
    case .userChanged: "IAMPASS: the name of who signs in changed meanwhile; nobody is signed in"
    }
  }

  private static func meaning(of status: SessionStatus) -> String {
    switch status {
    case .failed: "the phone could not tell that it was you"
    case .walkaway: "your phone left"
    case .cancelled: "denied on your phone"
    case .timeout: "not answered in time"
    case .closed, .pending, .identifying, .active, .unknown: "the server ended the request"
    }
  }
}

extension ServiceError {
  /// What went wrong, for the user: each kind its own sentence, since each is mended by somebody else.
  fileprivate var sentence: String {
    switch self {
    case .transport(let error): error.code.sentence
    case .notAccepted:
      "the server does not accept this computer: its id or secret is wrong or was revoked; ask your administrator"
    case .clockDiffers(let minutes):
      "this computer's clock differs from the server's by \(minutes) min; ask your administrator"
    case .notFound: "the server does not know this computer, this user or this request; ask your administrator"
    case .tooManyRequests: "the server has too many requests; try again later"
    case .serverFailed(let status): "the server has an error of its own (\(status)); try again later"
    case .noRandomness: "this computer has no random numbers; ask your administrator"
    case .badReply(.refused(let reason)):
      "the server refused the request"
        + (ReasonWord.text(of: reason).map { ": \($0)" } ?? "; ask your administrator")
    case .redirected, .unexpectedStatus, .badReply, .replyNotSigned, .replyTargetNotSigned, .replyForAnother,
      .foreignAddress, .badSessionSecret:
      "the server's answer cannot be used (\(explanation)); ask your administrator"
    }
  }
}

extension TransportError.Code {
  fileprivate var sentence: String {
    switch self {
    case .nameNotFound, .nameLookupTimedOut, .connectionRefused, .connectTimedOut, .networkUnreachable, .tlsTimedOut,
      .tlsRefused, .silent, .connectionLost, .interrupted:
      "server not reachable (\(explanation))"
    // These explanations are sentences: they say the certificate's fault and, of a time, where to look first.
    case .certificateExpired, .certificateNotYetValid: explanation
    case .tlsTooOld, .certificateForAnotherHost, .certificateUntrusted:
      "the server cannot be trusted (\(explanation)); ask your administrator"
    case .replyTooLarge, .notHTTP: "the server's answer cannot be used (\(explanation)); ask your administrator"
    case .workerFailed, .workerDied:
      "the network worker of this computer does not work; ask your administrator"
    }
  }
}
