import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

/// The consequences of a refusal: the answers to PAM, the user, the log and the broker's caller, and whether the phone
/// was asked.
struct RefusalRow {
  /// The answer to PAM. ``PAMAnswer`` has the codes, which differ between programs.
  enum Answer {
    case denied
    /// The phone did not approve.
    case failed
    case unknownUser
    /// The next module decides.
    case unavailable
    /// The same, unless `fail=open` applies because this error is an outage.
    case outage(ServiceError)
    case misconfigured
    /// The attempt ends, and no other module is asked.
    case ended
    /// The same, even in sshd.
    case aborted
  }

  let answer: Answer
  /// The line for the user, without a full stop; nil if there is none.
  let userLine: String?
  /// Whether the shipped profiles continue with the next module, which may ask for a password.
  let leadsToPassword: Bool
  /// A few words for the log. Words of the service in them are sanitized.
  let log: String
  /// syslog's level. An error is one that an administrator must repair.
  let level: Int32
  /// Whether the phone was asked before this ending. A connection gets only one request.
  let followsARequest: Bool
  /// Whether the phone may have rung although the request did not start. If it is not clear, it counts as rung.
  let mayHaveRung: Bool
  /// The answer to a program without privileges for which the broker asked.
  let broker: BrokerEnding
}

extension Refusal {
  /// The one table of endings. A new case does not compile until its row is written.
  var row: RefusalRow {
    switch self {
    case .notDecided: row(.failed, nil, log: "not decided", broker: .notAnswered)
    case .denied:
      row(
        .denied, "IAMPASS: denied on your phone", leadsToPassword: false, log: "denied on the phone", asked: true,
        broker: .denied)
    case .wrongDigits:
      row(
        .denied, "IAMPASS: wrong digits were typed on your phone; try again", leadsToPassword: false,
        log: "wrong digits were typed on the phone", asked: true, broker: .denied)
    case .notAnswered:
      row(
        .failed, "IAMPASS: not answered in time", log: "not answered in time", asked: true, broker: .notAnswered)
    case .endedWhileWaiting(let end, let reason):
      row(
        .failed, "IAMPASS: not approved: \(ReasonWord.text(of: reason) ?? end.meaning)",
        log: "ended by the service: " + DisplayText.sanitized(end.word + (reason.map { " \($0)" } ?? ""), limit: 100),
        asked: true, broker: .notAnswered)

    // MARK: What was typed, or could not be

    case .passwordTyped: row(.unavailable, nil, log: "password typed instead", level: LOG_DEBUG)
    case .answeredByNobody:
      row(
        .unavailable, "IAMPASS: the answer came faster than anybody types, so your phone was not asked",
        log: "answered before anybody could read the question")
    // A shell's prompt may run `sudo -n` each time.
    case .asksNothing:
      row(.unavailable, nil, log: "called so that nothing is asked (-n)", level: LOG_DEBUG, mayHaveRung: false)
    case .textAtSecondFactor:
      row(
        .failed, "IAMPASS: press Enter only; approve on your phone", leadsToPassword: false,
        log: "text typed instead of Enter", broker: .textTyped)
    case .interrupted:
      row(
        .ended, "IAMPASS: cancelled", leadsToPassword: false, log: "interrupted", asked: true, broker: .abandoned)
    case .terminalGone:
      row(.ended, nil, leadsToPassword: false, log: "terminal gone", broker: .abandoned)
    case .promptNotAnswered:
      row(.ended, nil, leadsToPassword: false, log: "prompt not answered", broker: .abandoned)
    case .abandoned:
      row(.ended, nil, leadsToPassword: false, log: "left while the phone was asked", asked: true, broker: .abandoned)
    case .userChanged:
      row(
        .ended, "IAMPASS: the user's name changed during the sign-in; nobody is signed in", leadsToPassword: false,
        log: "the user's name changed while the phone was asked", asked: true, broker: .abandoned)

    // MARK: The user and their phones

    case .noToken: row(.unknownUser, nil, log: "user has no token", level: LOG_DEBUG, broker: .noToken)
    // A lookup that failed is not an outage of the service: `fail=open` does not open on it.
    case .lookupFailed(let error):
      row(
        .unavailable, "IAMPASS: not asked: this computer cannot look up its users now", log: error.explanation,
        level: LOG_ERR)
    // There is no line, as for a name without a token. A stranger at sshd's prompt would otherwise learn which names
    // have one.
    case .notInSystem(let user):
      row(.unavailable, nil, log: "\(user) has a token, and the system does not know the name")
    case .noPhone:
      row(
        .unavailable, "IAMPASS: no phone is registered for you", log: "no phone registered", mayHaveRung: false)
    case .phoneNotTrusted(.noPhone):
      row(
        .unavailable, "IAMPASS: not asked: this computer trusts no phone of yours yet; ask your administrator",
        log: "no phone of the user is trusted by this computer (approvals = verified)", mayHaveRung: false)
    case .phoneNotTrusted(.noMethod(let asked)):
      row(
        .unavailable,
        "IAMPASS: not asked: "
          + (asked.contains(.device)
            ? "your phone has no screen lock registered that this computer trusts"
            : "this computer cannot verify \(asked.map(\.words).joined(separator: " or ")), which is asked for")
          + "; ask your administrator",
        log: (asked.contains(.device)
          ? "no trusted phone of the user has a screen lock, and methods = "
          : "a computer cannot verify methods = ")
          + asked.map(\.rawValue).joined(separator: ",") + " (approvals = verified)", mayHaveRung: false)
    case .cannotVerify(let error):
      row(
        .unavailable, "IAMPASS: not asked: this computer cannot check signatures of phones; ask your administrator",
        log: "signatures cannot be checked: \(DisplayText.sanitized(error.explanation))", level: LOG_ERR,
        mayHaveRung: false)
    case .phoneForgotten:
      row(
        .unavailable,
        "IAMPASS: not approved: this computer stopped trusting your phone while it was asked; ask your administrator",
        log: "this computer trusts the phone no more (approvals = verified)", asked: true)
    case .notVerifiable:
      row(
        .unavailable, "IAMPASS: the server knows no approvals that this computer can verify; ask your administrator",
        log: "the service knows no verified approvals (approvals = verified)", level: LOG_ERR, asked: true)

    // MARK: The request

    case .notStarted(let reason):
      row(
        .unavailable,
        "IAMPASS: not asked: "
          + (ReasonWord.text(of: reason) ?? "the server gives no reason that this computer understands"),
        log: "not started: " + DisplayText.sanitized(reason ?? "no reason given", limit: 100),
        asked: reason == ReasonWord.codeInUse,
        // A service that does not support requests without digits has rung.
        mayHaveRung: [ReasonWord.codeInUse, ReasonWord.codeRequired].contains(reason))
    case .commandNotRead:
      row(
        .unavailable, "IAMPASS: not asked: your command cannot be read, so it cannot be shown",
        log: "the command line cannot be read (send_command = yes)")
    case .commandTooLong:
      row(
        .unavailable, "IAMPASS: not asked: your command is too long for the phone to show",
        log: "the command has more than \(SignInContext.greatestValueLength) characters (long_command = refuse)")
    case .tooManyRequests(let seconds):
      row(
        .unavailable, "IAMPASS: too many requests went unanswered; try again \(Self.later(seconds))",
        log: "too many requests")
    case .limiterBroken(let error):
      row(
        .unavailable, "IAMPASS: not available (cannot count requests)",
        log: "cannot count requests: \(error.explanation)", level: LOG_ERR)
    case .unavailable(let error):
      row(
        .outage(error), "IAMPASS: \(error.sentence)", log: "unavailable: \(error.explanation)\(error.detail)",
        level: error.isForAnAdministrator ? LOG_ERR : LOG_NOTICE, asked: true, mayHaveRung: error.mayHaveRung)

    // MARK: This computer

    case .serviceNotListed: row(.unavailable, nil, log: "service not listed", level: LOG_DEBUG)
    case .callerNotRoot:
      row(.unavailable, nil, log: "no broker answers, and the caller cannot ask by itself", level: LOG_DEBUG)
    case .brokerLost:
      row(
        .unavailable, "IAMPASS: the broker of this computer stopped while your phone was asked; try again",
        log: "the broker left")
    // The broker's text is the whole line, which the broker has already logged.
    case .byBroker(let ending, let text):
      row(
        ending.answer, text.isEmpty ? nil : text, leadsToPassword: false, log: "the broker says \(ending)",
        level: LOG_DEBUG, broker: ending == .approved ? .aside : ending)
    case .notRecordable(let error):
      row(
        .unavailable, "IAMPASS: not asked: your session could not be watched: \(error.explanation)",
        log: "not asked: no record could be kept: \(error.explanation)", level: LOG_ERR, mayHaveRung: false)
    case .recordNotKept(let error):
      row(
        .unavailable, "IAMPASS: not available (cannot keep a record)",
        log: "cannot keep a record: \(error.explanation)", level: LOG_ERR, asked: true)
    case .misconfigured(.noServer):
      row(
        .misconfigured, nil, log: Misconfiguration.noServer.explanation, level: LOG_DEBUG, broker: .misconfigured)
    case .misconfigured(let error):
      row(
        .misconfigured, "IAMPASS is not configured; ask your administrator", log: error.explanation, level: LOG_ERR,
        broker: .misconfigured)

    case .offered(let ending, let refusal): offered(ending, refusal.row)
    }
  }

  /// `fail=open` never applies after an offer, whatever came before.
  private func offered(_ ending: OfferEnding, _ before: RefusalRow) -> RefusalRow {
    let userLine: String? =
      switch ending {
      case .passwordTyped: nil
      case .wrongCodes: "IAMPASS: too many wrong codes"
      case .tooManyTries(let seconds): "IAMPASS: too many codes were tried; try again \(Self.later(seconds))"
      case .broken(let error): "IAMPASS: recovery codes cannot be used: \(error.words)"
      case .phoneBroken(let error): "IAMPASS: your phone cannot approve without the network: \(error.words)"
      // sshd's user sees the same text for every name.
      case .nothingTyped, .withheld: before.userLine
      }
    let level: Int32 =
      switch ending {
      case .broken, .phoneBroken, .wrongCodes(_?): LOG_ERR
      case .passwordTyped, .wrongCodes(nil), .tooManyTries, .nothingTyped, .withheld: before.level
      }
    return row(
      ending == .withheld ? .failed : .unavailable, userLine, log: "\(before.log); then \(ending.explanation)",
      level: level, asked: before.followsARequest, mayHaveRung: before.mayHaveRung)
  }

  /// The time, rounded up, so that a user who tries then is not refused.
  private static func later(_ seconds: Int64) -> String {
    let minutes = (seconds + 59) / 60
    return minutes <= 1 ? "in a minute" : "in \(minutes) minutes"
  }

  private func row(
    _ answer: RefusalRow.Answer, _ userLine: String?, leadsToPassword: Bool = true, log: String,
    level: Int32 = LOG_NOTICE, asked: Bool = false, mayHaveRung: Bool = true, broker: BrokerEnding = .aside
  ) -> RefusalRow {
    RefusalRow(
      answer: answer, userLine: userLine, leadsToPassword: leadsToPassword, log: log, level: level,
      followsARequest: asked,
      mayHaveRung: mayHaveRung, broker: broker)
  }
}

extension BrokerEnding {
  /// The answer to PAM. An approval is never a refusal.
  fileprivate var answer: RefusalRow.Answer {
    switch self {
    case .denied: .denied
    case .notAnswered, .textTyped: .failed
    case .noToken: .unknownUser
    case .aside, .busy, .approved: .unavailable
    case .misconfigured: .misconfigured
    case .abandoned: .aborted
    }
  }
}

extension Refusal {
  /// The line, shown once, while a sudo or an ssh connection waits for the end of another one's request.
  static let waitsForOwn = "Your phone has another request of yours; this one waits until that has ended"

  /// The line for the user; nil if there is none.
  ///
  /// It has plain words. The log has the service's own reasons.
  ///
  /// - Parameter passwordFollows: whether a module after this one asks for a password. Otherwise the line must not
  ///   mention a prompt.
  public func message(passwordFollows: Bool) -> String? {
    let row = row
    guard let text = row.userLine else { return nil }
    return passwordFollows && row.leadsToPassword ? "\(text). Use your password." : text
  }
}
