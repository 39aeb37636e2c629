import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The sets in `/var/lib/iampass/recovery`, for one request.
struct HostRecoveryCodeVerifier: RecoveryCodeVerifier {
  let codes: RecoveryCodes
  /// Nil if the system does not know the name.
  let user: SystemUser?
  let request: LoginRequest

  func take(_ code: RecoveryCode, isEnrolled: Bool) throws(RecoveryError) -> CodeVerdict {
    try codes.take(code, of: isEnrolled ? user : nil, CodeUse(of: request))
  }
}

/// The phones in `/var/lib/iampass/offline`, for one request.
struct HostOfflineApprovalVerifier: OfflineApprovalVerifier {
  let phones: OfflinePhones
  let server: ServerURL
  let request: LoginRequest
  /// The strictest method that the module's arguments require.
  let method: AuthenticationMethod
  /// Logs a problem of one of several phones.
  let warn: (String) -> Void

  /// sshd offers this for every name: a missing prompt would reveal who has a phone here.
  ///
  /// If all possible phones have a screen lock, the lock is required.
  func question(isEnrolled: Bool) throws(OfflineError) -> PosedQuestion? {
    var asked = method
    if request.isSSH {
      if phones.haveAllLocks { asked = .device }
    } else {
      guard isEnrolled else { return nil }
      let able = try phones.phones(of: request.user).filter { method != .device || $0.credential != nil }
      guard !able.isEmpty else { return nil }
      if able.allSatisfy({ $0.credential != nil }) { asked = .device }
    }
    for fault in isEnrolled ? phones.faults(of: request.user) : [] {
      warn("a phone cannot approve without the service: \(fault.explanation)")
    }
    let posed = try phones.question(method: asked, context: request.context, at: Int64(Glibc.time(nil)))
    return posed.map { PosedQuestion(question: $0, link: $0.challenge.link(to: server)) }
  }

  func take(
    _ digits: OfflineDigits, for question: OfflineQuestion, isEnrolled: Bool
  ) throws(OfflineError) -> DigitsVerdict {
    try phones.take(
      digits, for: question, of: isEnrolled ? request.user : nil, origin: server.origin, CodeUse(of: request))
  }
}

extension CodeUse {
  fileprivate init(of request: LoginRequest) {
    self.init(
      user: request.user, service: request.service, tty: request.tty, remoteHost: request.remoteHost,
      time: Int64(Glibc.time(nil)))
  }
}
