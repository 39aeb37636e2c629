import CHost
import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// One call of `pam_sm_authenticate`: reads the host's items and the files, runs ``LoginAttempt``, and reports the
/// ending to host, user and log.
struct AuthenticateCall {
  let host: PAMHost
  let words: [String]

  func run() -> Int32 {
    let service = host.service
    let passwordFollows = ModuleArguments(reading: words).passwordFollows && !host.hasPassword
    var answer = PAMAnswer(
      isSSH: SSHServer.calls(service), isGDM: DesktopServices.isGDM(service), failsOpen: false,
      passwordFollows: passwordFollows)
    do throws(Misconfiguration) {
      let arguments = try ModuleArguments(words)
      answer = PAMAnswer(
        isSSH: answer.isSSH, isGDM: answer.isGDM, failsOpen: arguments.failsOpen, passwordFollows: passwordFollows)
      let code = try authenticate(arguments, service, answer)
      debug(arguments, "the answer to PAM is code \(code)")
      return code
    } catch {
      // `fail=open` never applies to a broken configuration.
      return refuseOnce(Refusal(error), answer)
    }
  }

  private func authenticate(
    _ arguments: ModuleArguments, _ service: String, _ answer: PAMAnswer
  ) throws(Misconfiguration) -> Int32 {
    for word in arguments.unknown { host.log(LOG_WARNING, "unknown module argument \(word)") }
    let setup = try HostSetup(path: arguments.configurationPath)
    for key in setup.configuration.unknownKeys {
      host.log(LOG_WARNING, "\(setup.configurationPath): unknown key \(key)")
    }
    let asking = setup.configuration.name(of: service, isUsersOwn: iampass_is_users_own() != 0)
    guard setup.configuration.services.contains(asking) || unlocksAScreen(setup, asking) else {
      debug(arguments, "service \(asking) is not listed")
      return answer.code(for: .serviceNotListed)
    }
    _ = try setup.serviceSettings()
    guard let name = host.user(), let nameBytes = host.userBytes else {
      return refuse(.noToken, of: nil, answer)
    }
    if BrokerCall.serves(service) { return askBroker(arguments, setup, asking, (name, nameBytes), answer) }
    if let kept = keptEnding(name) { return kept.laterCode }
    if answer.isSSH, let code = codeOfEarlierTry(name, setup) { return code }
    let signals = SignalWatch(client: SSHServer.isThisProgram ? ClientWatch.ofParent() : nil)
    defer { signals.end() }
    let login = LoginComposition(
      host: host, setup: setup, arguments: arguments, service: service,
      user: LoginUser(given: name, bytes: nameBytes))
    return try attempt(login, answer, signals)
  }

  /// Whether a service that is not listed asks the phone for a locked screen. If the program is not root's, the broker
  /// decides.
  private func unlocksAScreen(_ setup: HostSetup, _ service: String) -> Bool {
    let policy = setup.configuration.unlock
    guard policy != .off, service != DesktopServices.polkit else { return false }
    guard geteuid() == 0 else { return true }
    // Without a name there is no question: in an unlisted service this module shows no prompt.
    guard let name = host.userBytes else { return false }
    let found: SystemUser?
    do { found = try SystemUser.find(spelled: name) } catch {
      // The answer is PAM_AUTHINFO_UNAVAIL, as for every unlisted service.
      host.log(LOG_NOTICE, "no look for a locked screen: \(error.explanation)")
      return false
    }
    guard let user = found else { return false }
    let session = UnlockRule(policy).session(
      opensFor: service, of: user.uid, by: .root(seat: host.environment("XDG_SEAT")), in: LogindSession.all(),
      away: setup.awayLocks.all)
    return session != nil
  }

  private func attempt(
    _ login: LoginComposition, _ answer: PAMAnswer, _ signals: SignalWatch
  ) throws(Misconfiguration) -> Int32 {
    let (outcome, session) = try login.outcome(signals)
    switch outcome {
    case .refused(let refusal):
      if answer.isSSH, refusal.followsARequest { rememberOnConnection(answer.laterCode(for: refusal), login) }
      return refuse(refusal, of: login.user, session: session, answer)
    case .approved(let signIn): return approve(Passed(signIn), login, answer)
    case .offline(let signIn): return approve(Passed(signIn), login, answer)
    }
  }

  /// Has the broker ask the phone. Lockers use one handle for every try: no ending is remembered on it.
  ///
  /// - Parameter service: by which name the program is listed.
  private func askBroker(
    _ arguments: ModuleArguments, _ setup: HostSetup, _ service: String, _ user: (name: String, bytes: [UInt8]),
    _ answer: PAMAnswer
  ) -> Int32 {
    let signals = SignalWatch()
    defer { signals.end() }
    let call = BrokerCall(
      path: setup.configuration.broker, conversation: HostConversation(host: host, signals: signals),
      clock: HostClock(signals: signals), interruption: signals)
    // A setuid program's real uid is the user who started it.
    let asker = geteuid() == 0 && getuid() != 0 ? getuid() : nil
    let request = BrokerRequest(
      user: user.name, service: service, hasPassword: host.hasPassword,
      passwordFollows: answer.passwordFollows, prompt: arguments.prompt, methods: arguments.methods,
      timeout: arguments.timeout, asker: asker)
    switch call.outcome(of: request) {
    case .refused(let refusal): return refuse(refusal, of: nil, answer)
    case .approved(let session):
      guard host.userBytes == user.bytes else { return refuse(.userChanged, of: nil, session: session, answer) }
      // The broker has logged it.
      log(LOG_DEBUG, "approved", user: user.name, "session=\(session ?? "none") by=broker")
      return PAM_SUCCESS
    }
  }

  /// The only place that returns PAM_SUCCESS for a sign-in of this process.
  private func approve(_ passed: Passed, _ login: LoginComposition, _ answer: PAMAnswer) -> Int32 {
    let kept = KeptSession(
      remote: passed.remote, recordID: passed.record?.id, user: login.user.givenBytes, line: words,
      configurationPath: login.setup.configurationPath)
    // A conversation function or another thread of the host may have set another name while the phone was asked.
    guard host.userBytes == login.user.givenBytes else {
      kept.end(for: host)
      return refuse(.userChanged, of: login.user, session: passed.name, answer)
    }
    // sshd authenticates in a child, and only the PAM environment reaches open_session. In other programs it would
    // reach the user. A host that loses PAM data or the variable finds the record by its process (`WaitingRecords`). A
    // stack that asks again after an approval, such as after a mistyped password in a later module, opens a second
    // session.
    host.kept(KeptSession.name, as: KeptSession.self)?.end(for: host)
    guard isHandedOver(passed, kept, answer) else {
      kept.end(for: host)
      return refuse(.recordNotKept(.notYours), of: login.user, session: passed.name, answer)
    }
    if let approval = passed.approval { meetPhone(approval, login) }
    if passed.isByPhone {
      if let user = login.user.known {
        TrialNotes(besides: login.setup.configurationPath).note(user: user.name, service: login.service)
      }
      KeptApproval.keep(login.user.givenBytes, with: host)
    }
    let notice = login.user.known.flatMap { PasswordNotice.line(PasswordAge.of($0.name), today: PasswordAge.today) }
    for line in [passed.line, notice].compactMap(\.self) { iampass_pam_say(host.handle, PAM_TEXT_INFO, line) }
    log(LOG_NOTICE, "approved", user: login.user.logged, "session=\(passed.name ?? "none")\(passed.detail)")
    return PAM_SUCCESS
  }

  private func isHandedOver(_ passed: Passed, _ kept: KeptSession, _ answer: PAMAnswer) -> Bool {
    // A sudo without the service has no session to end.
    if passed.remote == nil, passed.record == nil { return true }
    guard answer.isSSH else { return KeptSession.keep(kept, with: host) }
    return passed.record.map { host.setEnvironment(SessionCall.variable, $0.id) } ?? false
  }

  /// Keeps the phone's key for approvals without the service. The sign-in does not depend on it.
  private func meetPhone(_ approval: VerifiedApproval, _ login: LoginComposition) {
    guard login.setup.configuration.offlineMethods.takesAnywhere(.phone), let phones = login.setup.offlinePhones,
      let user = login.user.asked
    else { return }
    do { try phones.meet(approval, of: user) } catch {
      host.log(LOG_WARNING, "the phone cannot approve without the service later: \(error.explanation)")
    }
  }

  /// The proof of a sign-in: a phone's approval, or one without the service.
  private struct Passed {
    /// The service session; nil if the service does not know of it.
    let remote: RemoteSession?
    let record: SessionRecord?
    /// The approval; nil unless this computer verified it.
    let approval: VerifiedApproval?
    /// Whether the user's own phone approved. Only then the keyring's password is passed on: not after typed digits or
    /// a code, and not after a locum.
    let isByPhone: Bool
    /// The fields for the log.
    let detail: String
    /// The session's name, which the service and the phone also use; nil for a sign-in without service session and
    /// record.
    var name: String? { remote?.label ?? record?.publicName }
    /// The line for the user; nil if there is none.
    let line: String?

    init(_ signIn: SignIn) {
      remote = signIn.session.remote
      record = signIn.record
      approval = signIn.session.approval
      let approval = signIn.session.approval
      isByPhone = approval?.isByLocum != true
      let locum = approval.flatMap { $0.isByLocum ? DisplayText.sanitized($0.phone.name, limit: 64) : nil }
      // Only a signed approval has a method.
      let method = approval.map { " method=\($0.method.rawValue)" } ?? ""
      detail =
        (signIn.session.phone.map { " phone=\($0)\(method)" } ?? "")
        + (locum.map { " " + LogField.text("locum", $0) } ?? "")
      line = locum.map { "IAMPASS: approved for you by \($0)" }
    }

    init(_ signIn: OfflineSignIn) {
      remote = nil
      record = signIn.record
      approval = nil
      isByPhone = false
      switch signIn.proof {
      case .code(let accepted):
        detail = " by=recovery-code code=\(accepted.number) left=\(accepted.left)"
        line = "IAMPASS: signed in by a recovery code; \(accepted.left) left"
      case .phone(let approval):
        detail = " by=offline-phone phone=\(approval.phone.id)"
        line = nil
      }
    }
  }

  /// - Parameters:
  ///   - user: the user, which is kept with the ending; nil if no name was looked up.
  ///   - session: the session that the service began, by its name in the log.
  private func refuse(
    _ refusal: Refusal, of user: LoginUser?, session: String? = nil, _ answer: PAMAnswer
  ) -> Int32 {
    if let message = answer.message(for: refusal) {
      iampass_pam_say(host.handle, answer.style(for: refusal), message)
    }
    let name = session.map { "session=\($0) " } ?? ""
    log(refusal.row.level, "refused", user: user?.logged, "\(name)reason=\(refusal.explanation)")
    if let user {
      let ending = KeptEnding(user: user.given, laterCode: answer.laterCode(for: refusal))
      // Without it sudo would ring three times. PAM_ABORT ends all calls on this handle.
      guard KeptEnding.keep(ending, with: host) else { return PAM_ABORT }
    }
    return answer.code(for: refusal)
  }

  /// An ending before a name was asked for. It is shown and logged once for each handle and user, even if a mistyped
  /// password repeats the stack. If it cannot be kept it is shown again, but no phone rings.
  private func refuseOnce(_ refusal: Refusal, _ answer: PAMAnswer) -> Int32 {
    let name = host.item(PAM_USER) ?? ""
    // PAM_IGNORE was remembered for an outage; a broken configuration must still fail.
    if let kept = keptEnding(name) { return kept.laterCode == PAM_IGNORE ? answer.code(for: refusal) : kept.laterCode }
    _ = KeptEnding.keep(KeptEnding(user: name, laterCode: answer.laterCode(for: refusal)), with: host)
    return refuse(refusal, of: nil, answer)
  }

  private func keptEnding(_ name: String) -> KeptEnding? {
    host.kept(KeptEnding.name, as: KeptEnding.self).flatMap { $0.user.utf8.elementsEqual(name.utf8) ? $0 : nil }
  }

  /// One line for each ending: user, service, remote host, how it ended, and which session.
  private func log(_ priority: Int32, _ outcome: String, user: String?, _ detail: String) {
    let service = ServiceTable.name(of: host.service, isUsersOwn: iampass_is_users_own() != 0)
    let whose = LogField.signIn(user: user, service: service, remoteHost: host.item(PAM_RHOST))
    host.log(priority, "\(outcome) \(whose) \(detail)")
  }

  private func debug(_ arguments: ModuleArguments, _ text: String) {
    if arguments.isDebugging { host.log(LOG_DEBUG, text) }
  }
}

extension AuthenticateCall {
  /// The ending of an earlier request on this ssh connection. If it is not known, the connection sends no more
  /// requests.
  private func codeOfEarlierTry(_ name: String, _ setup: HostSetup) -> Int32? {
    guard let connection = connection(name) else { return PAM_AUTHINFO_UNAVAIL }
    do {
      guard let text = try ConnectionMemory(run: setup.run).ending(on: connection) else { return nil }
      let code = Int32(text) ?? PAM_AUTHINFO_UNAVAIL
      // Whatever the file has, the code must not sign a user in, and must not be PAM_IGNORE.
      return [PAM_AUTH_ERR, PAM_AUTHINFO_UNAVAIL, PAM_MAXTRIES].contains(code) ? code : PAM_AUTHINFO_UNAVAIL
    } catch {
      host.log(LOG_ERR, "cannot look up this connection's requests: \(error.explanation)")
      return PAM_AUTHINFO_UNAVAIL
    }
  }

  private func connection(_ name: String) -> SSHConnection? {
    ProcessIdentity.parent().map {
      SSHConnection(parent: $0, user: name, remoteHost: host.item(PAM_RHOST) ?? "")
    }
  }

  private func rememberOnConnection(_ code: Int32, _ login: LoginComposition) {
    guard let connection = connection(login.user.given) else { return }
    do { try ConnectionMemory(run: login.setup.run).remember(String(code), on: connection) } catch {
      // The attempts file still counts the request; it is full after a few of them.
      host.log(LOG_ERR, "cannot note this connection's request: \(error.explanation)")
    }
  }
}
