import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// One sign-in that the broker runs for another program, over the service and the files. It keeps no record, and ends
/// the session at the service as soon as the phone has approved it.
public struct BrokeredLogin {
  let setup: HostSetup
  let request: BrokerRequest
  let user: SystemUser
  let callerUID: UInt32
  let caller: ProcessIdentity?

  /// - Parameters:
  ///   - user: the system's user of the request's name.
  ///   - callerUID: the caller's uid, from the kernel.
  ///   - caller: the caller's process; nil if it cannot be recognized later.
  public init(
    setup: HostSetup, request: BrokerRequest, user: SystemUser, callerUID: UInt32, caller: ProcessIdentity?
  ) {
    self.setup = setup
    self.request = request
    self.user = user
    self.callerUID = callerUID
    self.caller = caller
  }

  /// How the sign-in ended, and the session that the service began for it, by its name in the log.
  ///
  /// - Parameter interruption: shows that the caller has left, which cancels the request.
  public func outcome(
    conversation: any Conversation, clock: any LoginClock, interruption: any Interruption
  ) throws(Misconfiguration) -> (LoginOutcome, session: String?) {
    let credential = try setup.credential()
    let connection = try setup.service(as: credential, asking: user.name, interruption: interruption)
    let configuration = setup.configuration
    let limiter = AttemptLimiter(
      run: setup.run, greatestCount: configuration.maxRequests, window: configuration.requestWindow)
    let asked = loginRequest(host: credential.host ?? HostName.current())
    let service = kept(connection)
    let attempt = LoginAttempt(
      request: asked, policy: policy,
      tokens: FileTokenLookup(setup: setup, known: .success(user)),
      trust: setup.phoneTrust, service: service, conversation: conversation,
      limit: HostRequestLimit(limiter: limiter, user: user.name, source: asked.source),
      recorder: NoRecorder(), clock: clock,
      resumable: owner.map { StoredResumableRequests(setup: setup, owner: $0, service: service) })
    return (attempt.run(), connection.begun)
  }

  /// Ends an approved session at the service: this computer has no session for it. If that fails, the session expires
  /// there by itself.
  public func end(_ signIn: SignIn) {
    guard let credential = try? setup.credential(),
      let connection = try? setup.service(as: credential, interruption: nil)
    else { return }
    let deadline = MonotonicInstant.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds)
    try? kept(connection).end(signIn.session.remote, deadline: deadline)
  }

  private func kept(_ connection: ServiceConnection) -> KeptService {
    KeptService(service: connection, kept: AskedRequests(setup: setup), seconds: policy.timeout + Self.sessionSeconds)
  }

  private func loginRequest(host: String?) -> LoginRequest {
    // Only a root program is trusted to name the PAM service. Other programs can name any.
    let service = callerUID == 0 ? request.service : "\(request.service) (says the user's own program)"
    var asked = LoginRequest(
      user: user.name, service: service, callingUID: request.askerUID(of: callerUID),
      hasPassword: request.hasPassword, hostName: host,
      isWithoutCode: isWithoutCode)
    asked.askedBy = AskingUser.name(of: asked, knownAs: user)
    return asked
  }

  private var isWithoutCode: Bool {
    setup.configuration.row(request.service)?.asksWithoutCode(callerUID: callerUID, for: user.uid) == true
  }

  /// The locker that may resume the request; nil: it ends with this conversation. A request with digits always does,
  /// because the digits must be visible as long as they may be typed.
  private var owner: LeftRequest.Owner? {
    guard isWithoutCode, let caller else { return nil }
    return LeftRequest.Owner(uid: callerUID, service: request.service, process: caller)
  }

  /// How long this conversation waits for the phone, in seconds.
  private var timeout: Int64 {
    let whole = request.timeout ?? setup.configuration.approvalTimeout
    return owner == nil ? whole : min(whole, setup.configuration.unlockTimeout)
  }

  private var policy: LoginPolicy {
    LoginPolicy(
      prompt: request.isAgreed ? .push : request.prompt, methods: request.methods,
      timeout: timeout,
      // The session is ended at once. If that fails, it does not last long.
      sessionDuration: Self.sessionSeconds, sendsContext: setup.sendsContext, mustWatch: false)
  }

  private static let sessionSeconds: Int64 = 300
}

/// Keeps nothing: an approval through the broker opens no session.
private struct NoRecorder: SessionRecorder {
  func requireRecordable() throws(LedgerError) { throw .notYours }
  func record(_ session: ActiveSession) throws(LedgerError) -> SessionRecord { throw .notYours }
  func record(_ proof: OfflineProof) throws(LedgerError) -> SessionRecord { throw .notYours }
}

extension BrokerEnding {
  /// The ending of a refusal for the other program.
  public init(_ refusal: Refusal) { self = refusal.row.broker }
}
