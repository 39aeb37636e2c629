import CPAM
import HostState
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

extension Refusal {
  /// Said once, while a sudo or an ssh connection waits until the request of another one has ended.
  static let waitsForOwn = "Your phone has another request of yours; this one waits until that has ended"

  /// The line for the user; nil if there is nothing to say.
  ///
  /// Plain words: what the service calls its reasons stands in the log.
  ///
  /// - Parameter passwordFollows: whether a module after this one asks for a password. Without one the line does not
  ///   send the user to a prompt that never comes.
  public func message(passwordFollows: Bool) -> String? {
    guard let text else { return nil }
    return passwordFollows && leadsToPassword ? "\(text). Use your password." : text
  }

  /// What happened, without a full stop.
  private var text: String? {
    switch self {
    // A shell's prompt may run `sudo -n` each time.
    case .notDecided, .passwordTyped, .asksNothing, .noToken, .notInSystem, .serviceNotListed,
      .callerNotRoot, .misconfigured(.noServer),
      .terminalGone, .promptNotAnswered, .abandoned:
      nil
    case .brokerLost: "IAMPASS: the broker of this computer stopped while your phone was asked; try again"
    case .byBroker(_, let text): text.isEmpty ? nil : text
    case .denied: "IAMPASS: denied on your phone"
    case .notAnswered: "IAMPASS: not answered in time"
    case .answeredByNobody: "IAMPASS: the answer came faster than anybody types, so your phone was not asked"
    case .endedWhileWaiting(let end, let reason):
      "IAMPASS: not approved: \(ReasonWord.text(of: reason) ?? end.meaning)"
    case .textAtSecondFactor: "IAMPASS: press Enter only; approve on your phone"
    case .lookupFailed: "IAMPASS: not asked: this computer cannot look up its users now"
    case .noPhone: "IAMPASS: no phone is registered for you"
    case .phoneNotTrusted(.noPhone):
      "IAMPASS: not asked: this computer trusts no phone of yours yet; ask your administrator"
    case .phoneNotTrusted(.noMethod(let asked)):
      "IAMPASS: not asked: "
        + (asked.contains(.device)
          ? "your phone has no screen lock registered that this computer trusts"
          : "this computer cannot verify \(asked.map(\.words).joined(separator: " or ")), which is asked for")
        + "; ask your administrator"
    case .cannotVerify: "IAMPASS: not asked: this computer cannot check signatures of phones; ask your administrator"
    case .phoneForgotten:
      "IAMPASS: not approved: this computer stopped trusting your phone while it was asked; ask your administrator"
    case .notVerifiable:
      "IAMPASS: the server knows no approvals that this computer can verify; ask your administrator"
    case .notStarted(let reason):
      "IAMPASS: not asked: "
        + (ReasonWord.text(of: reason) ?? "the server gives no reason that this computer understands")
    case .commandNotRead: "IAMPASS: not asked: your command cannot be read, so it cannot be shown"
    case .commandTooLong: "IAMPASS: not asked: your command is too long for the phone to show"
    case .tooManyRequests: "IAMPASS: too many requests went unanswered; try again later"
    case .limiterBroken: "IAMPASS: not available (cannot count requests)"
    case .unavailable(let error): "IAMPASS: \(error.sentence)"
    case .notRecordable(let error): "IAMPASS: not asked: your session could not be watched: \(error.explanation)"
    case .recordNotKept: "IAMPASS: not available (cannot keep a record)"
    case .misconfigured: "IAMPASS is not configured; ask your administrator"
    case .interrupted: "IAMPASS: cancelled"
    case .offered(.passwordTyped, _): nil
    case .offered(.wrongCodes, _): "IAMPASS: too many wrong codes"
    case .offered(.tooManyTries, _): "IAMPASS: too many codes were tried; try again later"
    case .offered(.broken(let error), _): "IAMPASS: recovery codes cannot be used: \(error.words)"
    case .offered(.phoneBroken(let error), _):
      "IAMPASS: your phone cannot approve without the network: \(error.words)"
    // sshd's user is told the same for every name.
    case .offered(.nothingTyped, let refusal), .offered(.withheld, let refusal): refusal.text
    case .userChanged: "IAMPASS: the user's name changed during the sign-in; nobody is signed in"
    }
  }

  /// Whether the shipped profiles go on to the next module after this ending: a denial and an interruption end the
  /// attempt.
  private var leadsToPassword: Bool {
    switch self {
    // The broker's text is the whole line.
    case .byBroker, .denied, .textAtSecondFactor, .interrupted, .terminalGone, .promptNotAnswered, .userChanged,
      .abandoned:
      false
    case .notDecided, .notAnswered, .endedWhileWaiting, .passwordTyped, .answeredByNobody, .asksNothing, .noToken,
      .lookupFailed,
      .notInSystem, .noPhone, .phoneNotTrusted, .cannotVerify, .phoneForgotten, .notVerifiable, .notStarted,
      .commandNotRead, .commandTooLong, .tooManyRequests, .limiterBroken, .serviceNotListed, .callerNotRoot,
      .brokerLost, .unavailable, .notRecordable, .recordNotKept, .misconfigured, .offered:
      true
    }
  }
}

extension AuthenticationMethod {
  /// For people.
  fileprivate var words: String {
    switch self {
    case .acceptance: "a tap"
    case .device: "a screen lock"
    case .facial: "a face"
    }
  }
}

extension RequestEnd {
  fileprivate var meaning: String {
    switch self {
    case .failed: "the phone could not tell that it was you"
    case .walkaway: "your phone left"
    case .closed, .unknown: "the server ended the request"
    }
  }
}

extension ServiceError {
  /// What went wrong, for the user. Each kind has its own sentence, since different people mend them.
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
    case .approvalNotVerified(.unverifiable):
      "this computer cannot check signatures of phones; ask your administrator"
    case .approvalNotVerified(let refusal):
      "the server says that you approved, and that is not proven: \(refusal.explanation); tell your administrator"
    case .noRandomness: "this computer has no random numbers; ask your administrator"
    case .codesNotKept: "this computer cannot keep the codes of its requests apart; ask your administrator"
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
    // These explanations are sentences: they say the certificate's fault and, for a wrong time, the clock to check
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

extension PAMAnswer {
  /// The message style of the line for the user. When a conversation of GDM fails, gnome-shell replaces waiting texts by a line of its
  /// own about passwords; it keeps errors.
  func style(for refusal: Refusal) -> Int32 {
    code(for: refusal) == PAM_PERM_DENIED ? PAM_ERROR_MSG : PAM_TEXT_INFO
  }
}
