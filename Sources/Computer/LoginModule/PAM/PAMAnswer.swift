import CPAM
import IAMPASSClient

/// The answers of an ending to host and user: the only table of PAM codes, and the user's line.
struct PAMAnswer {
  /// sshd treats PAM_ABORT as its own failure. Only PAM_MAXTRIES makes it stop asking.
  let isSSH: Bool
  /// GDM treats PAM_MAXTRIES as a broken service: gnome-shell then never asks again.
  var isGDM = false
  /// Whether `fail=open`.
  let failsOpen: Bool
  /// Whether a module after this one asks for a password.
  let passwordFollows: Bool

  /// The module's code for a refusal.
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

  /// The line for the user; nil if there is none.
  func message(for refusal: Refusal) -> String? { refusal.message(passwordFollows: passwordFollows) }

  /// The code of later calls for the same user, which send no more requests.
  func laterCode(for refusal: Refusal) -> Int32 {
    guard refusal == .denied || refusal == .wrongDigits else { return code(for: refusal) }
    return isSSH ? PAM_MAXTRIES : isGDM ? PAM_PERM_DENIED : PAM_ABORT
  }

  /// Whether this is an outage: only a network error from a worker that ran.
  private func isOutage(_ error: ServiceError) -> Bool {
    if case .transport(let transport) = error { transport.code.isOutage } else { false }
  }
}
