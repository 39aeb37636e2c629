import CPAM
import IAMPASSClient

/// What host and user are told of an ending: the one table from endings to PAM codes, and the user's line.
struct PAMAnswer {
  /// sshd takes PAM_ABORT for a failure of its own; only PAM_MAXTRIES ends its asking.
  let isSSH: Bool
  /// GDM takes PAM_MAXTRIES for a broken service: gnome-shell then never asks again.
  var isGDM = false
  /// `fail=open`.
  let failsOpen: Bool
  /// A module after this one asks for a password.
  let passwordFollows: Bool

  /// What the module returns for a refusal.
  func code(for refusal: Refusal) -> Int32 {
    switch refusal {
    case .denied: isGDM ? PAM_PERM_DENIED : PAM_MAXTRIES
    case .notDecided, .notAnswered, .endedWhileWaiting, .textAtSecondFactor, .offered(.withheld, _): PAM_AUTH_ERR
    case .noToken: PAM_USER_UNKNOWN
    // A lookup that failed is not an outage of the service: `fail=open` does not open on it.
    case .passwordTyped, .answeredByNobody, .asksNothing, .lookupFailed, .notInSystem, .noPhone, .phoneNotTrusted,
      .cannotVerify,
      .phoneForgotten, .notVerifiable, .notStarted,
      .commandNotRead, .commandTooLong, .tooManyRequests, .limiterBroken, .serviceNotListed, .callerNotRoot,
      .brokerLost,
      .notRecordable, .recordNotKept:
      PAM_AUTHINFO_UNAVAIL
    // Whatever came before, `fail=open` never opens after an offer.
    case .offered: PAM_AUTHINFO_UNAVAIL
    case .unavailable(let error): failsOpen && isOutage(error) ? PAM_IGNORE : PAM_AUTHINFO_UNAVAIL
    case .misconfigured: PAM_SERVICE_ERR
    case .byBroker(let ending, _): code(for: ending)
    case .interrupted, .terminalGone, .promptNotAnswered, .userChanged, .abandoned: isSSH ? PAM_MAXTRIES : PAM_ABORT
    }
  }

  /// The same for an attempt that the broker ran. An approval never comes as a refusal.
  private func code(for ending: BrokerEnding) -> Int32 {
    switch ending {
    case .denied: code(for: Refusal.denied)
    case .notAnswered, .textTyped: PAM_AUTH_ERR
    case .noToken: PAM_USER_UNKNOWN
    case .aside, .busy, .approved: PAM_AUTHINFO_UNAVAIL
    case .misconfigured: PAM_SERVICE_ERR
    case .abandoned: PAM_ABORT
    }
  }

  /// The line for the user; nil if there is nothing to say.
  func message(for refusal: Refusal) -> String? { refusal.message(passwordFollows: passwordFollows) }

  /// What later calls for the same user return: nothing more is sent.
  func laterCode(for refusal: Refusal) -> Int32 {
    switch refusal {
    case .denied: isSSH ? PAM_MAXTRIES : isGDM ? PAM_PERM_DENIED : PAM_ABORT
    case .notDecided, .notAnswered, .endedWhileWaiting, .passwordTyped, .answeredByNobody, .asksNothing,
      .textAtSecondFactor,
      .noToken, .lookupFailed, .notInSystem, .noPhone, .phoneNotTrusted, .cannotVerify, .phoneForgotten,
      .notVerifiable, .notStarted, .commandNotRead,
      .commandTooLong,
      .tooManyRequests, .limiterBroken, .serviceNotListed, .callerNotRoot, .brokerLost, .byBroker, .unavailable,
      .notRecordable, .recordNotKept, .misconfigured, .interrupted, .terminalGone, .promptNotAnswered, .abandoned,
      .userChanged,
      .offered:
      code(for: refusal)
    }
  }

  /// Only what a worker that ran reports of the network.
  private func isOutage(_ error: ServiceError) -> Bool {
    if case .transport(let transport) = error { transport.code.isOutage } else { false }
  }
}
