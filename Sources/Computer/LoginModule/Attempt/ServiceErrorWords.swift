import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

extension AuthenticationMethod {
  /// The words for people.
  var words: String {
    switch self {
    case .acceptance: "a tap"
    case .device: "a screen lock"
    case .facial: "a face"
    }
  }
}

extension RequestEnd {
  var meaning: String {
    switch self {
    case .failed: "the phone could not tell that it was you"
    case .walkaway: "your phone left"
    case .closed, .unknown: "the server ended the request"
    }
  }
}

extension ServiceError {
  /// The error for the user. Each kind has its own sentence, because different people repair them.
  var sentence: String {
    switch self {
    case .transport(let error): error.code.sentence
    case .notAccepted:
      "the server does not accept this computer: its id or secret is wrong or was revoked; ask your administrator"
    case .clockDiffers(let minutes):
      "this computer's clock differs from the server's by \(minutes) min; ask your administrator"
    case .notFound: "the server does not know this computer, this user or this request; ask your administrator"
    case .tooManyRequests: "the server has too many requests; try again later"
    case .serverFailed(let status): "the server has an error of its own (\(status)); try again later"
    case .approvalNotVerified(.unverifiable):
      "this computer cannot check signatures of phones; ask your administrator"
    case .approvalNotVerified(let refusal):
      "the server says that you approved, and that is not proven: \(refusal.explanation); tell your administrator"
    case .noRandomness: "this computer has no random numbers; ask your administrator"
    case .codesNotKept: "this computer cannot keep the codes of its requests apart; ask your administrator"
    case .requestStaysNoted: "this computer cannot remove its note of the request; ask your administrator"
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
    // These explanations are sentences: they name the certificate's fault and, for a wrong time, the clock to check
    // first.
    case .certificateExpired, .certificateNotYetValid: explanation
    case .tlsTooOld, .certificateForAnotherHost, .certificateUntrusted:
      "the server cannot be trusted (\(explanation)); ask your administrator"
    case .replyTooLarge, .notHTTP: "the server's answer cannot be used (\(explanation)); ask your administrator"
    case .workerFailed, .workerDied:
      "the network worker of this computer does not work; ask your administrator"
    }
  }
}
