import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

extension Refusal {
  /// A few words for the log. Words of the service in them are sanitized.
  public var explanation: String { row.log }
}

extension OfferEnding {
  var explanation: String {
    switch self {
    case .passwordTyped: "password typed instead of a code"
    case .wrongCodes(nil): "\(CodeTries.inOneSignIn) wrong codes"
    case .wrongCodes(.codes(let fault)?): "recovery codes not taken: \(fault.explanation)"
    case .wrongCodes(.phone(let fault)?): "no digits of a phone taken: \(fault.explanation)"
    case .tooManyTries: "too many tries of codes"
    case .phoneBroken(let error): "no phone can approve without the service: \(error.explanation)"
    case .broken(let error): "recovery codes cannot be used: \(error.explanation)"
    case .nothingTyped: "nothing typed by a user without a token"
    case .withheld: "no code asked for, since the phone may have denied"
    }
  }
}

extension ServiceError {
  /// Whether the computer's own credential or clock is wrong.
  var isForAnAdministrator: Bool {
    switch self {
    case .notAccepted, .clockDiffers, .approvalNotVerified: true
    case .transport, .notFound, .tooManyRequests, .serverFailed, .redirected, .unexpectedStatus, .badReply,
      .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .foreignAddress, .badSessionSecret, .noRandomness,
      .codesNotKept, .requestStaysNoted:
      false
    }
  }

  /// The system's own message.
  var detail: String {
    switch self {
    case .transport(let error):
      error.detail.isEmpty ? "" : " (\(DisplayText.sanitized(error.detail, limit: 120)))"
    case .badReply(.refused(let reason?)): " (\(DisplayText.sanitized(reason, limit: 100)))"
    case .badReply, .notAccepted, .clockDiffers, .notFound, .tooManyRequests, .serverFailed, .redirected,
      .unexpectedStatus, .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .approvalNotVerified,
      .foreignAddress, .badSessionSecret,
      .noRandomness, .codesNotKept, .requestStaysNoted:
      ""
    }
  }
}
