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

  /// How the sign-in ended, and the session that the service began for it, by its name in the log.
  func outcome(_ signals: SignalWatch) throws(Misconfiguration) -> (LoginOutcome, session: String?) {
    guard let name = user.asked else { return (.refused(.noToken), nil) }
    let credential = try setup.credential()
    let request = request(name, host: credential.host ?? HostName.current())
    let connection = try setup.service(as: credential, asking: name, interruption: signals)
    let configuration = setup.configuration
    let source: AttemptSource = user.known == nil ? .unknownName(request.remoteHost ?? "") : request.source
    let offline = offlineWays(request, source)
    let attempt = LoginAttempt(
      request: request, policy: policy,
      tokens: FileTokenLookup(setup: setup, known: user.lookup),
      trust: setup.phoneTrust, service: try noted(connection, name, signals),
      conversation: HostConversation(host: host, signals: signals),
      limit: HostRequestLimit(limiter: limiter, user: name, source: source),
      recorder: HostSessionRecorder(
        ledger: setup.ledger, user: user.known ?? SystemUser(name: name, uid: UInt32.max), request: request,
        duration: configuration.sessionDuration, offlineDuration: configuration.offlineSession,
        opensSession: configuration.opensSession(service)),
      clock: HostClock(signals: signals), offline: offline)
    let outcome: LoginOutcome
    if arguments.isDebugging {
      let trace = StepTrace(host: host)
      trace.note(1, user.lookupText)
      outcome = attempt.traced(by: trace).run()
    } else {
      outcome = attempt.run()
    }
    if connection.saidNoPhone { forgetPhones(of: name) }
    return (outcome, connection.begun)
  }

  /// The service, with notes of its requests. If this sign-in is killed, or cannot withdraw its request, the user's next
  /// one finds them.
  private func noted(
    _ connection: ServiceConnection, _ name: UnixUsername, _ signals: SignalWatch
  ) throws(Misconfiguration) -> NotedService {
    let notes = RequestNotes(run: setup.run, user: name)
    let seconds = policy.timeout + policy.sessionDuration
    connection.leaves = { session in _ = try? notes.note(session, seconds: seconds) }
    return NotedService(
      service: connection, notes: notes, settings: try setup.serviceSettings(),
      clock: HostClock(signals: signals), seconds: seconds,
      withdraw: { session, deadline throws(ServiceError) in try connection.withdraw(session, by: deadline) },
      tell: {
        let whose = LogField.text("user", name.text)
        host.log(LOG_NOTICE, "withdrew \(whose) session=\($0): its sign-in was killed, or could not withdraw it")
      })
  }

  /// Forgets the user's phones that can approve without the service, if the service has signed that the user has no
  /// phone.
  private func forgetPhones(of name: UnixUsername) {
    guard setup.configuration.requiresSignedReplies, let phones = setup.offlinePhones else { return }
    do {
      if try phones.forget(name) { host.log(LOG_NOTICE, "the user's phone approves no more without the service") }
    } catch { host.log(LOG_WARNING, "a phone that the service has cut off is still known: \(error.explanation)") }
  }

  /// The ways without the service; nil if the PAM service allows none.
  private func offlineWays(_ request: LoginRequest, _ source: AttemptSource) -> OfflineWays? {
    let methods = setup.configuration.offlineMethods
    let codes =
      methods.takes(.recovery, service)
      ? HostRecoveryCodeVerifier(codes: setup.recoveryCodes, user: user.known, request: request) : nil
    var phone: HostOfflineApprovalVerifier?
    if methods.takes(.phone, service), let phones = setup.offlinePhones, let server = setup.configuration.server {
      let needsLock = !arguments.methods.isEmpty && !arguments.methods.contains(.acceptance)
      phone = HostOfflineApprovalVerifier(
        phones: phones, server: server, request: request, method: needsLock ? .device : .acceptance,
        warn: { host.log(LOG_WARNING, $0) })
    }
    guard codes != nil || phone != nil else { return nil }
    func limit(_ limiter: AttemptLimiter, _ source: AttemptSource) -> HostRequestLimit {
      HostRequestLimit(limiter: limiter, user: request.user, source: source)
    }
    return OfflineWays(
      codes: codes, phone: phone, limit: limit(codeLimiter, source),
      remoteDigits: source.allRemote.map { limit(digitsLimiter, $0) })
  }

  private var limiter: AttemptLimiter {
    AttemptLimiter(
      run: setup.run, greatestCount: setup.configuration.maxRequests, window: setup.configuration.requestWindow)
  }

  /// Counts codes, in the same files.
  private var codeLimiter: AttemptLimiter {
    AttemptLimiter(
      run: setup.run, greatestCount: CodeTries.inWindow, window: CodeTries.window,
      remembering: setup.configuration.requestWindow)
  }

  private var digitsLimiter: AttemptLimiter {
    AttemptLimiter(run: setup.run, greatestCount: CodeTries.remoteDigitsInWindow, window: CodeTries.window)
  }

  /// - Parameter host: this computer's name at the service. Otherwise the phone would sign another name than it shows.
  private func request(_ name: UnixUsername, host hostName: String?) -> LoginRequest {
    let options = setup.configuration.isSudoLike(service) ? SudoOptions.ofThisProcess : nil
    var request = LoginRequest(
      user: name, service: service, tty: host.item(PAM_TTY), remoteHost: host.item(PAM_RHOST),
      remoteUser: host.item(PAM_RUSER), callingUID: getuid(), hasPassword: host.hasPassword,
      command: setup.configuration.sendsCommand ? CommandLineText.ofThisProcess() : nil, hostName: hostName,
      hostShows: setup.configuration.row(service)?.shows ?? .text, isSSHServer: SSHServer.isThisProgram,
      asksNothing: options?.asksNothing == true, isAnsweredByProgram: options?.readsStandardInput == true)
    request.askedBy = AskingUser.name(of: request, knownAs: user.known)
    return request
  }

  private var policy: LoginPolicy {
    let configuration = setup.configuration
    return LoginPolicy(
      prompt: arguments.prompt, methods: arguments.methods, timeout: arguments.timeout ?? configuration.approvalTimeout,
      sessionDuration: configuration.sessionDuration, sendsContext: setup.sendsContext,
      mustWatch: configuration.opensSession(service), sendsCommand: configuration.sendsCommand,
      refusesLongCommands: configuration.longCommand == .refuse, passwordFollows: arguments.passwordFollows)
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

extension LoginUser {
  /// The look-up's result, for the debug log.
  fileprivate var lookupText: String {
    switch lookup {
    case .success(.some): "the system knows the user"
    case .success(nil): "the system does not know the user"
    case .failure(let error): error.explanation
    }
  }
}

/// `/etc/iampass/phones`, beside the configuration.
extension PhoneTrust: ApprovalTrust {}

/// The attempts files in `/run/iampass`, for one user and source.
struct HostRequestLimit: RequestLimit {
  let limiter: AttemptLimiter
  let user: UnixUsername
  let source: AttemptSource

  func admit() throws(AttemptRefusal) { try limiter.admit(user, from: source) }
  func forgive() throws(AttemptRefusal) { try limiter.forgive(user, from: source) }
}
