import CPAM
import IAMPASSClient

/// What host and user are told of an ending: the one table of PAM codes, and the user's line.
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
    switch refusal.row.answer {
    case .denied: isGDM ? PAM_PERM_DENIED : PAM_MAXTRIES
    case .failed: PAM_AUTH_ERR
    case .unknownUser: PAM_USER_UNKNOWN
    case .unavailable: PAM_AUTHINFO_UNAVAIL
    case .outage(let error): failsOpen && isOutage(error) ? PAM_IGNORE : PAM_AUTHINFO_UNAVAIL
    case .misconfigured: PAM_SERVICE_ERR
    case .ended: isSSH ? PAM_MAXTRIES : PAM_ABORT
    case .aborted: PAM_ABORT
    }
  }

  /// The line for the user; nil if there is nothing to say.
  func message(for refusal: Refusal) -> String? { refusal.message(passwordFollows: passwordFollows) }

  /// What later calls for the same user return: nothing more is sent.
  func laterCode(for refusal: Refusal) -> Int32 {
    guard refusal == .denied || refusal == .wrongDigits else { return code(for: refusal) }
    return isSSH ? PAM_MAXTRIES : isGDM ? PAM_PERM_DENIED : PAM_ABORT
  }

  /// Only what a worker that ran reports of the network.
  private func isOutage(_ error: ServiceError) -> Bool {
    if case .transport(let transport) = error { transport.code.isOutage } else { false }
  }
}
