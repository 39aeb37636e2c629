import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// What replies must have to be accepted.
struct ReplyPins: Equatable {
  let signedReplies: Bool
  let signedTargets: Bool

  static let none = ReplyPins(signedReplies: false, signedTargets: false)

  init(signedReplies: Bool, signedTargets: Bool) {
    self.signedReplies = signedReplies
    self.signedTargets = signedTargets
  }

  init(_ configuration: Configuration) {
    self.init(
      signedReplies: configuration.requiresSignedReplies, signedTargets: configuration.requiresSignedTargets)
  }

  init(_ announcement: ServiceAnnouncement) {
    self.init(signedReplies: announcement.signedReplies, signedTargets: announcement.signedTargets)
  }

  /// The error if one of `others` requires what this does not.
  func lack(of others: [ReplyPins]) -> ServiceError? {
    if !signedReplies, others.contains(where: \.signedReplies) { return .replyNotSigned }
    if !signedTargets, others.contains(where: \.signedTargets) { return .replyTargetNotSigned }
    return nil
  }
}

/// The service's response to the answers. The trial changes nothing.
struct SetupTrial {
  let scheme: SigningScheme
  let kind: ServiceProbe.CredentialKind
  let replies: ReplyPins

  init(_ answers: SetupAnswers, interrupt: Interrupt) throws(CommandProblem) {
    let transport = try Self.transport(answers, interrupt)
    let probe = ServiceProbe(
      server: answers.server, dialect: answers.configuration.dialect, transport: transport,
      unixTime: { Int64(time(nil)) })
    // Somebody who sets up one computer by hand is told at once.
    var busy = answers.joining.map { _ in BusyService(interrupt) }
    let began = MonotonicInstant.now()
    let greeting = try Self.asking(answers.server, &busy) { () throws(ServiceError) in
      try probe.greeting(deadline: .now().advanced(milliseconds: ServiceChecks.patience))
    }
    let took = MonotonicInstant.now().milliseconds(since: began)
    Terminal.say("\(answers.server) answers" + (answers.server.isEncrypted ? " over TLS" : "") + " (\(took) ms)")
    let clock = ClockFinding.finding(difference: greeting.clockDifference)
    // A clock that is far off is reported once: by the failure, or below if the service accepts it anyway.
    if clock.level != .problem { Self.say(clock) }
    let (scheme, kind, replies) = try Self.accepted(answers, probe, greeting.announcement, &busy)
    if clock.level == .problem { Self.say(clock) }
    self.scheme = scheme
    self.kind = kind
    self.replies = replies
    try Self.judge(replies, answers, greeting.announcement)
    Self.tell(kind, hostsHaveOwn: greeting.announcement?.hostCredentials ?? false)
  }

  private static func say(_ finding: Finding) {
    Terminal.say(finding.text)
    if let hint = finding.hint { Terminal.say("hint: \(hint)") }
  }

  private static func transport(_ answers: SetupAnswers, _ interrupt: Interrupt) throws(CommandProblem)
    -> WorkerTransport
  {
    var authorities: CertificateBundle?
    if let joining = answers.joining {
      authorities = joining.certificates
    } else if let path = answers.newAuthority ?? answers.configuration.caFile {
      do { authorities = try CertificateBundle(path: path) } catch { throw .file(error) }
    }
    let configuration = answers.configuration
    return WorkerTransport(
      settings: WorkerSettings(
        server: answers.server, caCertificates: authorities, proxy: configuration.proxy, worker: configuration.worker,
        workerUser: configuration.workerUser), interruption: interrupt)
  }

  private static func asking<Answer>(
    _ server: ServerURL, _ busy: inout BusyService?, _ call: () throws(ServiceError) -> Answer
  ) throws(CommandProblem) -> Answer {
    while true {
      let refusal: ServiceError
      do { return try call() } catch { refusal = error }
      if case .transport(let transport) = refusal {
        if transport.code == .interrupted { throw .interrupted }
        throw .unreachable(server, transport)
      }
      guard try busy?.pauses(after: refusal) == true else { throw .service(refusal) }
    }
  }

  /// Finds a scheme that the service accepts. The one in force is tried first, so that it stays if the service accepts
  /// both.
  private static func accepted(
    _ answers: SetupAnswers, _ probe: ServiceProbe, _ announcement: ServiceAnnouncement?, _ busy: inout BusyService?
  ) throws(CommandProblem) -> (SigningScheme, ServiceProbe.CredentialKind, ReplyPins) {
    let current = answers.configuration.signing
    for scheme in [current] + SigningScheme.allCases.filter({ $0 != current }) {
      // The documented scheme takes only secrets of one length.
      let fits = (try? RequestSigner(clientID: "", secret: answers.credential.secret, scheme: scheme)) != nil
      guard fits else { continue }
      let acceptance = try asking(answers.server, &busy) { () throws(ServiceError) in
        try probe.acceptance(
          of: answers.credential, scheme: scheme, mayBeHost: announcement?.hostCredentials ?? false,
          deadline: .now().advanced(milliseconds: ServiceChecks.patience))
      }
      switch acceptance {
      case .accepted(let kind, let signsReplies, let signsTargets):
        Terminal.say("the service accepts the signature (signing = \(scheme.rawValue))")
        return (scheme, kind, ReplyPins(signedReplies: signsReplies, signedTargets: signsTargets))
      case .refused: continue
      case .unknownApplication: throw .unknownApplication(answers.credential.applicationID)
      case .clockDiffers(let difference): throw .clockDiffers(ClockFinding.finding(difference: difference))
      }
    }
    throw .notAccepted
  }

  /// A requirement stays, even if the address changes. A service that stops signing, or does not sign as announced, may
  /// be an impostor. `--unsigned` gives up only what this computer has required.
  private static func judge(
    _ replies: ReplyPins, _ answers: SetupAnswers, _ announcement: ServiceAnnouncement?
  ) throws(CommandProblem) {
    let promised = [announcement.map(ReplyPins.init) ?? .none, answers.credentialPins]
    if let lack = replies.lack(of: promised) { throw .signsLess(lack, thanSaid: true) }
    if !answers.givesUpPins, let lack = replies.lack(of: [ReplyPins(answers.configuration)]) {
      throw .signsLess(lack, thanSaid: false)
    }
    guard replies.signedReplies || answers.server.isEncrypted else {
      throw .misconfigured(.plainServerNotSigned, path: Configuration.path)
    }
    Terminal.say(
      replies.signedReplies
        ? "the service signs its replies: signed_replies = required"
        : "the service does not sign its replies: signed_replies = off")
    if replies.signedTargets { Terminal.say("the signature covers what was asked: signed_targets = required") }
  }

  private static func tell(_ kind: ServiceProbe.CredentialKind, hostsHaveOwn: Bool) {
    switch kind {
    case .host: Terminal.say("the credential is this host's own: users and phones are managed with --credentials FILE")
    case .application:
      Terminal.say("the credential is the application's own: whoever is root here can register phones for everybody")
      if hostsHaveOwn { Terminal.say("hint: make a host credential at the service, and run setup again with it") }
    }
  }
}
