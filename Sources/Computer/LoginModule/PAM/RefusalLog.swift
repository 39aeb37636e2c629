import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

extension Refusal {
  /// syslog's level: an administrator must mend what is an error.
  var priority: Int32 {
    switch self {
    case .misconfigured(.noServer), .serviceNotListed, .callerNotRoot, .noToken, .passwordTyped, .asksNothing: LOG_DEBUG
    // The broker has logged it.
    case .byBroker: LOG_DEBUG
    case .misconfigured, .lookupFailed, .limiterBroken, .notRecordable, .recordNotKept, .cannotVerify, .notVerifiable:
      LOG_ERR
    case .unavailable(let error): error.isForAnAdministrator ? LOG_ERR : LOG_NOTICE
    case .offered(.broken, _), .offered(.phoneBroken, _), .offered(.wrongCodes(_?), _): LOG_ERR
    case .offered(_, let refusal): refusal.priority
    case .notDecided, .denied, .notAnswered, .endedWhileWaiting, .answeredByNobody, .textAtSecondFactor, .notInSystem,
      .noPhone, .phoneNotTrusted, .phoneForgotten, .notStarted, .commandNotRead, .commandTooLong, .tooManyRequests,
      .interrupted,
      .terminalGone,
      .promptNotAnswered,
      .abandoned, .brokerLost,
      .userChanged:
      LOG_NOTICE
    }
  }

  /// A few words for the log, with the service's own words in them, made harmless.
  public var explanation: String {
    switch self {
    case .notDecided: "not decided"
    case .denied: "denied on the phone"
    case .notAnswered: "not answered in time"
    case .endedWhileWaiting(let end, let reason):
      "ended by the service: " + DisplayText.sanitized(end.word + (reason.map { " \($0)" } ?? ""), limit: 100)
    case .passwordTyped: "password typed instead"
    case .answeredByNobody: "answered before anybody could read the question"
    case .asksNothing: "called so that nothing is asked (-n)"
    case .textAtSecondFactor: "text typed instead of Enter"
    case .noToken: "user has no token"
    case .lookupFailed(let error): error.explanation
    case .notInSystem(let user): "\(user) has a token, and the system does not know the name"
    case .noPhone: "no phone registered"
    case .phoneNotTrusted(.noPhone): "no phone of the user is trusted by this computer (approvals = verified)"
    case .phoneNotTrusted(.noMethod(let asked)):
      (asked.contains(.device)
        ? "no trusted phone of the user has a screen lock, and methods = "
        : "a computer cannot verify methods = ")
        + asked.map(\.rawValue).joined(separator: ",") + " (approvals = verified)"
    case .cannotVerify(let error): "signatures cannot be checked: \(DisplayText.sanitized(error.explanation))"
    case .phoneForgotten: "this computer trusts the phone no more (approvals = verified)"
    case .notVerifiable: "the service knows no verified approvals (approvals = verified)"
    case .notStarted(let reason): "not started: " + DisplayText.sanitized(reason ?? "no reason given", limit: 100)
    case .commandNotRead: "the command line cannot be read (send_command = yes)"
    case .commandTooLong:
      "the command has more than \(SignInContext.greatestValueLength) characters (long_command = refuse)"
    case .tooManyRequests: "too many requests"
    case .limiterBroken(let error): "cannot count requests: \(error.explanation)"
    case .serviceNotListed: "service not listed"
    case .callerNotRoot: "no broker answers, and the caller cannot ask by itself"
    case .brokerLost: "the broker left"
    case .byBroker(let ending, _): "the broker says \(ending)"
    case .unavailable(let error): "unavailable: \(error.explanation)\(error.detail)"
    case .notRecordable(let error): "not asked: no record could be kept: \(error.explanation)"
    case .recordNotKept(let error): "cannot keep a record: \(error.explanation)"
    case .misconfigured(let error): error.explanation
    case .interrupted: "interrupted"
    case .terminalGone: "terminal gone"
    case .promptNotAnswered: "prompt not answered"
    case .abandoned: "left while the phone was asked"
    case .offered(let ending, let refusal): "\(refusal.explanation); then \(ending.explanation)"
    case .userChanged: "the user's name changed while the phone was asked"
    }
  }
}

extension OfferEnding {
  fileprivate var explanation: String {
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
  fileprivate var isForAnAdministrator: Bool {
    switch self {
    case .notAccepted, .clockDiffers, .approvalNotVerified: true
    case .transport, .notFound, .tooManyRequests, .serverFailed, .redirected, .unexpectedStatus, .badReply,
      .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .foreignAddress, .badSessionSecret, .noRandomness,
      .codesNotKept:
      false
    }
  }

  /// What the system said beneath.
  fileprivate var detail: String {
    switch self {
    case .transport(let error):
      error.detail.isEmpty ? "" : " (\(DisplayText.sanitized(error.detail, limit: 120)))"
    case .badReply(.refused(let reason?)): " (\(DisplayText.sanitized(reason, limit: 100)))"
    case .badReply, .notAccepted, .clockDiffers, .notFound, .tooManyRequests, .serverFailed, .redirected,
      .unexpectedStatus, .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .approvalNotVerified,
      .foreignAddress, .badSessionSecret,
      .noRandomness, .codesNotKept:
      ""
    }
  }
}
