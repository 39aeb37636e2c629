import HostState
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The doctor's findings from ``ServiceFacts``.
public struct ServiceJudgement {
  private let server: ServerURL
  private let configuration: Configuration
  private let credentialsPath: String

  public init(server: ServerURL, configuration: Configuration, credentialsPath: String) {
    self.server = server
    self.configuration = configuration
    self.credentialsPath = credentialsPath
  }

  /// - Parameter now: the wall clock in Unix seconds.
  public func findings(_ facts: ServiceFacts, now: Int64) -> [Finding] {
    switch facts {
    case .misconfigured(let error): [Finding(.problem, .configuration, error.explanation, hint: error.hint)]
    case .unreachable(let error): [unreachable(error)]
    case .answered(let answer): findings(answer, now)
    }
  }

  private func unreachable(_ error: ServiceError) -> Finding {
    let hint: String? =
      switch error {
      case .transport(let transport): transport.code.hint(for: server)
      default: nil
      }
    return Finding(.problem, .network, "\(server) cannot be asked: \(error.explanation)", hint: hint)
  }

  private func findings(_ answer: ServiceFacts.Answer, _ now: Int64) -> [Finding] {
    let answers = "\(server) answers" + (server.isEncrypted ? " over TLS" : "") + " (\(answer.milliseconds) ms)"
    // A refusal has the clock's difference too, which is reported once.
    let clock = answer.credential.refusedClock ?? answer.clockDifference
    return [Finding(.ok, .network, answers)] + address(answer.announcement?.address)
      + certificate(answer.certificateEnd, now) + [ClockFinding.finding(difference: clock)]
      + credential(answer.credential, answer.announcement)
  }

  /// - Parameter own: the service's own address; nil if it did not give one.
  private func address(_ own: ServerURL?) -> [Finding] {
    guard let own, own.origin != server.origin else { return [] }
    return [
      Finding(
        configuration.approvals == .verified ? .problem : .warning, .service,
        "the service registers phones at \(own.origin), and server is \(server): such a phone signs nobody in here",
        hint: "let server here, and --public-url of iampass-server, name the same address")
    ]
  }

  private func certificate(_ end: ServiceFacts.CertificateEnd, _ now: Int64) -> [Finding] {
    switch end {
    case .notAsked: []
    case .unknown:
      [Finding(.ok, .network, "the certificate's end was not checked: openssl does not say it")]
    case .at(let end): [CertificateTerm.finding(end: end, now: now)]
    }
  }

  private func credential(
    _ reply: ServiceFacts.CredentialReply, _ announcement: ServiceAnnouncement?
  ) -> [Finding] {
    let again = "iampassctl setup, with the application's id and secret at hand"
    switch reply {
    case .notAsked, .answered(.clockDiffers): return []
    case .failed(let error):
      return [Finding(.problem, .service, "the signed call failed: \(error.explanation)")]
    case .answered(.refused):
      let text = "the service does not accept the signature (signing = \(configuration.signing.rawValue))"
      return [Finding(.problem, .service, text, hint: again)]
    case .answered(.unknownApplication):
      let text = "the service does not know the application_id of \(credentialsPath)"
      return [Finding(.problem, .service, text, hint: again)]
    case .answered(.accepted(let kind, let signsReplies, let signsTargets)):
      let text = "the service accepts the signature (signing = \(configuration.signing.rawValue))"
      let hostsHaveOwn = announcement?.hostCredentials ?? false
      return [Finding(.ok, .service, text)] + replies(signsReplies) + targets(signsReplies, signsTargets)
        + (kind == .application && hostsHaveOwn ? [Self.applicationsOwn] : [])
        + (configuration.approvals == .service && signsTargets ? [Self.believed] : [])
    }
  }

  private func replies(_ areSigned: Bool) -> [Finding] {
    guard configuration.requiresSignedReplies != areSigned else { return [] }
    return areSigned
      ? [
        Finding(
          .warning, .service, "the service signs its replies, and signed_replies is off",
          hint: "set signed_replies = required")
      ]
      : [
        Finding(
          .problem, .service, "signed_replies = required, but the service does not sign",
          hint: "if this service never signed, set signed_replies = off; otherwise somebody is in between")
      ]
  }

  /// Findings about signed targets; none if a missing signature of replies is reported.
  private func targets(_ repliesAreSigned: Bool, _ areSigned: Bool) -> [Finding] {
    guard configuration.requiresSignedReplies, repliesAreSigned, configuration.requiresSignedTargets != areSigned
    else { return [] }
    return areSigned
      ? [
        Finding(
          .warning, .service, "the service's signature covers what was asked, and signed_targets is off",
          hint: "set signed_targets = required")
      ]
      : [
        Finding(
          .problem, .service, "signed_targets = required, but the service's signature does not cover what was asked",
          hint: "if an older iampass-server was put back, set signed_targets = off; otherwise somebody is in between")
      ]
  }

  private static let believed = Finding(
    .ok, .service, "approvals = service: whoever holds the service can sign in each user who has a token",
    hint: "approvals = verified, best with methods=device after pam_iampass.so; see iampass.conf(5)")

  private static let applicationsOwn = Finding(
    .warning, .service, "this host holds the application's own credential: root here can register phones for everybody",
    hint: "make a host credential at the service, and run iampassctl setup")
}

extension ServiceFacts.CredentialReply {
  /// The service's clock minus ours, in seconds, if that was why the service refused the signature.
  fileprivate var refusedClock: Int64? {
    if case .answered(.clockDiffers(let difference)) = self { difference } else { nil }
  }
}

extension TransportError.Code {
  /// What to do if `server` gave no complete reply because of this error.
  public func hint(for server: ServerURL) -> String? {
    switch self {
    case .nameNotFound, .nameLookupTimedOut: "check server in iampass.conf, and: getent hosts \(server.hostName)"
    case .connectionRefused, .connectTimedOut, .networkUnreachable, .silent, .connectionLost, .tlsTimedOut:
      "check that the service runs and that no firewall is between"
    case .certificateUntrusted: "iampassctl setup --ca FILE, with the certificate of the service's authority"
    case .certificateForAnotherHost: "use the name that the certificate has"
    case .certificateExpired, .certificateNotYetValid:
      "timedatectl; if the clock is right, renew the certificate at the service"
    case .tlsTooOld, .tlsRefused, .notHTTP: "the service must speak HTTPS with TLS 1.2 or later at this address"
    case .workerFailed, .workerDied:
      "check the worker's file and worker_user, or: apt install --reinstall libpam-iampass"
    case .replyTooLarge, .interrupted: nil
    }
  }
}
