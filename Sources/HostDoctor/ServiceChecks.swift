import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// What the service says, asked over the worker as a sign-in would ask it.
package final class ServiceChecks {
  /// For one call, in ms; as long as a sign-in waits for the service.
  package static let patience: Int64 = 15_000
  /// Users asked about at the service, one call each.
  static let greatestAskedUsers = 200

  private let setup: HostSetup
  private let server: ServerURL
  /// What a management credential that is accepted leaves behind, to ask about phones.
  private(set) var management: ManagementClient?
  /// The service's clock minus ours, in seconds, where it refused the signature for that.
  private var clockRefusal: Int64?

  init?(setup: HostSetup) {
    guard let server = setup.configuration.server else { return nil }
    self.setup = setup
    self.server = server
  }

  func findings() -> [Finding] {
    do throws(Misconfiguration) {
      let transport = try setup.transport(interruption: nil)
      let probe = ServiceProbe(
        server: server, dialect: setup.configuration.dialect, transport: transport, unixTime: { Int64(time(nil)) })
      return try findings(probe, transport)
    } catch {
      return [Finding(.problem, .configuration, error.explanation, hint: error.hint)]
    }
  }

  private func findings(_ probe: ServiceProbe, _ transport: WorkerTransport) throws(Misconfiguration) -> [Finding] {
    let began = MonotonicInstant.now()
    let greeting: ServiceProbe.Greeting
    do { greeting = try probe.greeting(deadline: began.advanced(milliseconds: Self.patience)) } catch {
      return [Self.unreachable(error, server)]
    }
    let took = MonotonicInstant.now().milliseconds(since: began)
    var findings = [
      Finding(.ok, .network, "\(server) answers" + (server.isEncrypted ? " over TLS" : "") + " (\(took) ms)")
    ]
    if let term = certificateFinding() { findings.append(term) }
    let credential = try credentialFindings(probe, greeting.announcement, transport)
    // A refusal tells the clock too, and it is said once.
    findings.append(ClockFinding.finding(difference: clockRefusal ?? greeting.clockDifference))
    return findings + credential
  }

  package static func unreachable(_ error: ServiceError, _ server: ServerURL) -> Finding {
    let hint: String? =
      switch error {
      case .transport(let transport): hintFor(transport.code, server)
      default: nil
      }
    return Finding(.problem, .network, "\(server) cannot be asked: \(error.explanation)", hint: hint)
  }

  package static func hintFor(_ code: TransportError.Code, _ server: ServerURL) -> String? {
    switch code {
    case .nameNotFound, .nameLookupTimedOut: "check server in iampass.conf, and: getent hosts \(server.hostName)"
    case .connectionRefused, .connectTimedOut, .networkUnreachable, .silent, .connectionLost, .tlsTimedOut:
      "check that the service runs and that no firewall is between"
    case .certificateUntrusted: "iampassctl setup --ca FILE, with the certificate of the service's authority"
    case .certificateForAnotherHost: "use the name that the certificate has"
    case .certificateExpired, .certificateNotYetValid: "timedatectl; else renew the certificate at the service"
    case .tlsTooOld, .tlsRefused, .notHTTP: "the service must speak HTTPS with TLS 1.2 or later at this address"
    case .workerFailed, .workerDied:
      "look at the worker's file and at worker_user; else: apt install --reinstall libpam-iampass"
    case .replyTooLarge, .interrupted: nil
    }
  }

  private func certificateFinding() -> Finding? {
    guard server.isEncrypted, setup.configuration.proxy == nil else { return nil }
    guard let end = CertificateReader.end(of: server, workerUser: setup.configuration.workerUser) else {
      return Finding(.ok, .network, "the certificate's end was not looked at (openssl says nothing)")
    }
    return CertificateTerm.finding(end: end, now: Int64(time(nil)))
  }

  private func credentialFindings(
    _ probe: ServiceProbe, _ announcement: ServiceAnnouncement?, _ transport: WorkerTransport
  ) throws(Misconfiguration) -> [Finding] {
    let credential: ServiceCredential
    do { credential = try setup.credential() } catch {
      // Said with the files.
      if case .credentials(.keyValue(.file), _) = error { return [] }
      throw error
    }
    let settings = try setup.serviceSettings()
    do throws(ServiceError) {
      let acceptance = try probe.acceptance(
        of: credential, scheme: settings.scheme, mayBeHost: announcement?.hostCredentials ?? false,
        deadline: .now().advanced(milliseconds: Self.patience))
      if case .accepted(.application, _, _) = acceptance {
        management = try? ManagementClient(
          settings: settings, credential: credential, transport: transport, unixTime: { Int64(time(nil)) })
      }
      return judge(acceptance, announcement)
    } catch {
      if error == .badSessionSecret { throw .signing(.secretIsNot24Bytes) }
      return [Finding(.problem, .service, "the signed call failed: \(error.explanation)")]
    }
  }

  private func judge(_ acceptance: ServiceProbe.Acceptance, _ announcement: ServiceAnnouncement?) -> [Finding] {
    let configuration = setup.configuration
    switch acceptance {
    case .refused:
      return [
        Finding(
          .problem, .service, "the service does not accept the signature (signing = \(configuration.signing.rawValue))",
          hint: "iampassctl setup, with the application's id and secret at hand")
      ]
    case .unknownApplication:
      return [
        Finding(
          .problem, .service, "the service does not know the application_id of \(setup.credentialsPath)",
          hint: "iampassctl setup, with the application's id and secret at hand")
      ]
    case .clockDiffers(let difference):
      clockRefusal = difference
      return []
    case .accepted(let kind, let signsReplies, let signsTargets):
      var findings = [
        Finding(.ok, .service, "the service accepts the signature (signing = \(configuration.signing.rawValue))")
      ]
      if configuration.requiresSignedReplies, !signsReplies {
        findings.append(
          Finding(
            .problem, .service, "signed_replies = required, but the service does not sign",
            hint: "where this service never did, set signed_replies = off; else somebody is in between"))
      } else if !configuration.requiresSignedReplies, signsReplies {
        findings.append(
          Finding(
            .warning, .service, "the service signs its replies, and signed_replies is off",
            hint: "set signed_replies = required"))
      }
      if let finding = Self.targetFinding(configuration, signsReplies, signsTargets) { findings.append(finding) }
      if kind == .application, announcement?.hostCredentials ?? false {
        findings.append(
          Finding(
            .warning, .service,
            "this host holds the application's own credential: root here can register phones for everybody",
            hint: "make a host credential at the service, and run iampassctl setup"))
      }
      return findings
    }
  }

  /// Nothing where the replies' signature itself is not as it should be: that is said.
  private static func targetFinding(
    _ configuration: Configuration, _ signsReplies: Bool, _ signsTargets: Bool
  ) -> Finding? {
    guard configuration.requiresSignedReplies, signsReplies,
      configuration.requiresSignedTargets != signsTargets
    else { return nil }
    return signsTargets
      ? Finding(
        .warning, .service, "the service's signature covers what was asked, and signed_targets is off",
        hint: "set signed_targets = required")
      : Finding(
        .problem, .service, "signed_targets = required, but the service's signature does not cover what was asked",
        hint: "where an older iampass-server was put back, set signed_targets = off; else somebody is in between")
  }

  /// Those of `users` who have no phone at the service; nil where that cannot be asked, or would take too long.
  func usersWithoutPhone(_ users: [String], _ tokens: UserTokens) -> [String]? {
    guard let management, users.count <= Self.greatestAskedUsers else { return nil }
    let deadline = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    var without: [String] = []
    for user in users {
      guard let name = UnixUsername(validating: user), let token = try? tokens.token(of: name) else { continue }
      do throws(ServiceError) {
        if try !management.hasRegisteredMobileDevice(token: token, deadline: deadline) { without.append(user) }
      } catch {
        guard error == .notFound else { return nil }
        without.append(user)
      }
    }
    return without
  }
}

/// The end of the certificate that the service shows. openssl reads it, as the worker's user: nothing parses TLS as
/// root, and the worker tells no more of a certificate than whether it is good.
enum CertificateReader {
  private static let setpriv = "/usr/bin/setpriv"
  private static let openssl = "/usr/bin/openssl"
  /// In seconds.
  private static let patience: Int64 = 5

  static func end(of server: ServerURL, workerUser: String) -> Int64? {
    guard Program.exists(setpriv), Program.exists(openssl), let user = getpwnam(workerUser)?.pointee, user.pw_uid != 0
    else { return nil }
    let drop = [
      setpriv, "--reuid=\(user.pw_uid)", "--regid=\(user.pw_gid)", "--clear-groups", "--no-new-privs", openssl,
    ]
    let address = "\(server.host):\(server.port)"
    let name = server.hostName.contains(":") ? [] : ["-servername", server.hostName]
    let shown = Program.run(drop + ["s_client", "-connect", address] + name, seconds: patience)
    guard let shown, let begin = shown.output.range(of: "-----BEGIN CERTIFICATE-----"),
      let end = shown.output.range(of: "-----END CERTIFICATE-----"), begin < end
    else { return nil }
    let pem = Array((shown.output[begin..<end] + "-----END CERTIFICATE-----\n").utf8)
    guard pem.count < 60_000 else { return nil }
    return Program.run(drop + ["x509", "-noout", "-enddate"], input: pem, seconds: patience).flatMap {
      CertificateTerm.end($0.output)
    }
  }
}

extension ServerURL {
  /// As the address has it, brackets included.
  var host: String {
    let authority = origin.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: true)[1].dropFirst()
    if authority.hasPrefix("["), let close = authority.firstIndex(of: "]") { return String(authority[...close]) }
    return String(authority.prefix { $0 != ":" })
  }

  /// Without brackets.
  var hostName: String { String(host.filter { $0 != "[" && $0 != "]" }) }

  var port: String {
    let after = origin.dropFirst((isEncrypted ? "https://" : "http://").count + host.count)
    return after.isEmpty ? (isEncrypted ? "443" : "80") : String(after.dropFirst())
  }
}

extension StringProtocol {
  /// Where a text stands, without Foundation; the index is that of its first character.
  fileprivate func range(of text: String) -> Index? {
    var index = startIndex
    while index < endIndex {
      if self[index...].hasPrefix(text) { return index }
      formIndex(after: &index)
    }
    return nil
  }
}
