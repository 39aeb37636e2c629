import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// Asks the service over the worker, as a sign-in does. ``ServiceJudgement`` judges the answers.
package final class ServiceChecks {
  /// The longest time of one call, in ms. A sign-in waits as long for the service.
  package static let patience: Int64 = 15_000
  /// The most users that the service is asked about. Each takes one call.
  static let greatestAskedUsers = 200

  let setup: HostSetup
  private let server: ServerURL
  /// The deadline for all calls; nil: each call has ``patience``, and the certificate is checked too.
  private let deadline: MonotonicInstant?
  /// The client of an accepted management credential, which can ask about phones.
  private(set) var management: ManagementClient?
  /// The client of an accepted credential, which can ask about pinned phones.
  private var authentication: AuthenticationClient?
  /// Whether the service has accepted this computer's credential.
  var isAccepted: Bool { authentication != nil }

  init?(setup: HostSetup, deadline: MonotonicInstant? = nil) {
    guard let server = setup.configuration.server else { return nil }
    self.setup = setup
    self.server = server
    self.deadline = deadline
  }

  func findings() -> [Finding] {
    let judgement = ServiceJudgement(
      server: server, configuration: setup.configuration, credentialsPath: setup.credentialsPath)
    let facts = facts()
    return judgement.findings(facts, now: Int64(time(nil))) + hostFindings(facts)
  }

  /// Findings about the computer's name. A verified sign-in sends it, and the service accepts only the name of the
  /// credential.
  private func hostFindings(_ facts: ServiceFacts) -> [Finding] {
    guard setup.configuration.approvals == .verified, case .answered(let answer) = facts,
      case .answered(.accepted(.host, _, _)) = answer.credential, (try? setup.credential())?.host == nil
    else { return [] }
    return [
      Finding(
        .warning, .service, "\(setup.credentialsPath) does not say which host this credential is for",
        hint: "write the line host = NAME into it, as iampass-server host-credential list shows the host")
    ]
  }

  private func facts() -> ServiceFacts {
    do throws(Misconfiguration) {
      let transport = try setup.transport(interruption: nil)
      let probe = ServiceProbe(
        server: server, dialect: setup.configuration.dialect, transport: transport, unixTime: { Int64(time(nil)) })
      return try facts(probe, transport)
    } catch { return .misconfigured(error) }
  }

  private func facts(_ probe: ServiceProbe, _ transport: WorkerTransport) throws(Misconfiguration) -> ServiceFacts {
    let began = MonotonicInstant.now()
    let greeting: ServiceProbe.Greeting
    do { greeting = try probe.greeting(deadline: deadline ?? began.advanced(milliseconds: Self.patience)) } catch {
      return .unreachable(error)
    }
    return .answered(
      ServiceFacts.Answer(
        milliseconds: MonotonicInstant.now().milliseconds(since: began), announcement: greeting.announcement,
        clockDifference: greeting.clockDifference, certificateEnd: certificateEnd(),
        credential: try credentialReply(probe, greeting.announcement, transport)))
  }

  private func certificateEnd() -> ServiceFacts.CertificateEnd {
    guard server.isEncrypted, setup.configuration.proxy == nil, deadline == nil else { return .notAsked }
    return CertificateReader.end(of: server, workerUser: setup.configuration.workerUser).map { .at($0) } ?? .unknown
  }

  private func credentialReply(
    _ probe: ServiceProbe, _ announcement: ServiceAnnouncement?, _ transport: WorkerTransport
  ) throws(Misconfiguration) -> ServiceFacts.CredentialReply {
    let credential: ServiceCredential
    do { credential = try setup.credential() } catch {
      if case .credentials(.keyValue(.file), _) = error { return .notAsked }
      throw error
    }
    let settings = try setup.serviceSettings()
    do throws(ServiceError) {
      let acceptance = try probe.acceptance(
        of: credential, scheme: settings.scheme, mayBeHost: announcement?.hostCredentials ?? false,
        deadline: deadline ?? .now().advanced(milliseconds: Self.patience))
      if case .accepted = acceptance {
        authentication = try? AuthenticationClient(
          settings: settings, credential: credential, transport: transport, unixTime: { Int64(time(nil)) })
      }
      if case .accepted(.application, _, _) = acceptance {
        management = try? ManagementClient(
          settings: settings, credential: credential, transport: transport, unixTime: { Int64(time(nil)) })
      }
      return .answered(acceptance)
    } catch {
      if error == .badSessionSecret { throw .signing(.secretIsNot24Bytes) }
      return .failed(error)
    }
  }

  /// Asks for one user's phones; nil without a credential. An application's credential uses the question that older
  /// services know.
  private var phoneDigests: ((Secret, MonotonicInstant) throws(ServiceError) -> [PhoneDigestsReply.Phone])? {
    if let management {
      return { (token, deadline) throws(ServiceError) in
        try management.phones(of: token, deadline: deadline).phones.map {
          PhoneDigestsReply.Phone(id: $0.id, keysDigest: $0.keys.digest)
        }
      }
    }
    guard let authentication else { return nil }
    return { (token, deadline) throws(ServiceError) in
      try authentication.phoneDigests(of: token, deadline: deadline).phones
    }
  }

  /// The phones of these users, by name, as far as the service answers in time. A user without a phone has an empty
  /// list.
  func phones(of users: [String], _ tokens: UserTokens) -> [String: [PhoneDigestsReply.Phone]] {
    guard let phones = phoneDigests else { return [:] }
    let deadline = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    var listed: [String: [PhoneDigestsReply.Phone]] = [:]
    for user in users.prefix(Self.greatestAskedUsers) {
      guard let name = UnixUsername(validating: user), let token = try? tokens.token(of: name) else { continue }
      do throws(ServiceError) { listed[user] = try phones(token, deadline) } catch {
        // An unknown user was reported before. A service that does not answer is not asked again.
        guard error == .notFound else { return listed }
      }
    }
    return listed
  }

  /// The users without a phone at the service; nil if the service cannot be asked, or if there are too many users.
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
