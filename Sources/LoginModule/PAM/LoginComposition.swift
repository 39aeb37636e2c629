import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Puts the parts of one ``LoginAttempt`` together: the host's items, the files and the worker.
struct LoginComposition {
  let host: PAMHost
  let setup: HostSetup
  let arguments: ModuleArguments
  let service: String
  let user: LoginUser

  func outcome(_ signals: SignalWatch) throws(Misconfiguration) -> LoginOutcome {
    guard let name = user.asked else { return .refused(.noToken) }
    let credential = try setup.credential()
    let request = request(name, host: credential.host ?? HostName.current())
    let connection = try setup.service(as: credential, interruption: signals)
    let attempt = LoginAttempt(
      request: request, policy: policy,
      tokens: FileTokenLookup(
        path: setup.usersPath, isKnownUser: user.known != nil, sharing: setup.configuration.sharedTokens),
      trust: setup.phoneTrust, service: connection, conversation: HostConversation(host: host, signals: signals),
      limit: HostRequestLimit(limiter: limiter, user: name, source: request.source),
      recorder: HostSessionRecorder(
        ledger: setup.ledger, user: user.known ?? SystemUser(name: name, uid: UInt32.max), request: request,
        duration: setup.configuration.sessionDuration),
      clock: HostClock(signals: signals))
    guard arguments.isDebugging else { return attempt.run() }
    let trace = StepTrace(host: host)
    trace.note(1, "the system \(user.known == nil ? "does not know" : "knows") the user")
    return attempt.traced(by: trace).run()
  }

  private var limiter: AttemptLimiter {
    AttemptLimiter(
      run: setup.run, greatestCount: setup.configuration.maxRequests, window: setup.configuration.requestWindow)
  }

  /// - Parameter host: as the service knows this computer. Otherwise the phone would sign another name than is shown.
  private func request(_ name: UnixUsername, host hostName: String?) -> LoginRequest {
    LoginRequest(
      user: name, service: service, tty: host.item(PAM_TTY), remoteHost: host.item(PAM_RHOST),
      remoteUser: host.item(PAM_RUSER), callingUID: getuid(), hasPassword: host.hasPassword,
      command: setup.configuration.sendsCommand ? CommandLineText.ofThisProcess() : nil, hostName: hostName)
  }

  private var policy: LoginPolicy {
    let configuration = setup.configuration
    return LoginPolicy(
      prompt: arguments.prompt, methods: arguments.methods, timeout: arguments.timeout ?? configuration.approvalTimeout,
      sessionDuration: configuration.sessionDuration, sendsContext: setup.sendsContext,
      mustWatch: !UnwatchedServices.contains(service), sendsCommand: configuration.sendsCommand,
      refusesLongCommands: configuration.longCommand == .refuse)
  }
}

extension HostSetup {
  /// `auto`: `setup` requires signed replies if the service announced our additions, context among them.
  var sendsContext: Bool {
    switch configuration.sendContext {
    case .yes: true
    case .no: false
    case .auto: configuration.requiresSignedReplies || configuration.approvals == .verified
    }
  }
}

/// `/etc/iampass/phones`, beside the configuration.
extension PhoneTrust: ApprovalTrust {}
