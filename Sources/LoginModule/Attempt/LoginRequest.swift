import HostState
import IAMPASSClient
import IAMPASSProtocol

/// Who wants in, where, and from where: what the PAM host says.
public struct LoginRequest: Sendable, Equatable {
  public var user: UnixUsername
  public var service: String
  public var tty: String?
  public var remoteHost: String?
  /// PAM_RUSER: who asks.
  public var remoteUser: String?
  public var callingUID: UInt32
  /// PAM_AUTHTOK is set: we are the second factor.
  public var hasPassword: Bool
  public var command: String?
  public var hostName: String?

  public init(
    user: UnixUsername, service: String, tty: String? = nil, remoteHost: String? = nil, remoteUser: String? = nil,
    callingUID: UInt32, hasPassword: Bool = false, command: String? = nil, hostName: String? = nil
  ) {
    self.user = user
    self.service = service
    self.tty = tty
    self.remoteHost = remoteHost
    self.remoteUser = remoteUser
    self.callingUID = callingUID
    self.hasPassword = hasPassword
    self.command = command
    self.hostName = hostName
  }

  public var isSSH: Bool { service == "sshd" }

  /// Whether the user asks for himself at a terminal, as in sudo.
  var isOwnTerminal: Bool {
    remoteUser.flatMap { UnixUsername(validating: $0) } == user && tty?.isEmpty == false && remoteHost == nil
  }

  var source: AttemptSource {
    if let remoteHost { return .remoteHost(remoteHost) }
    return isOwnTerminal ? .own : .caller(uid: callingUID)
  }

  var context: SignInContext {
    SignInContext(
      host: hostName, service: service, user: user.text, tty: tty, remoteHost: remoteHost, command: command)
  }
}

/// What the configuration and the module's arguments say of one attempt.
public struct LoginPolicy: Sendable {
  /// Until the service has taken the request, in seconds.
  static let greatestStartSeconds: Int64 = 15
  /// An empty answer that came faster is a program's: a person needs longer to read the question. Milliseconds.
  static let fastestEnter: Int64 = 250
  /// Between two looks whether the user's other request has ended, in milliseconds.
  static let ownRequestStep: Int64 = 1_000
  /// Rung later than this before the time is up, nobody could answer the phone; in milliseconds.
  static let leastForAnAnswer: Int64 = 3_000
  /// For telling the service that nobody waits any more.
  static let cancelMilliseconds: Int64 = 1_000

  public var prompt: PromptMode
  public var methods: [AuthenticationMethod]
  /// Seconds, within ``ApprovalTimeout/bounds``.
  public var timeout: Int64
  /// Seconds.
  public var sessionDuration: Int64
  public var sendsContext: Bool
  /// The session is one that the helper must watch: not sudo's or su's.
  public var mustWatch: Bool
  /// With the context.
  public var sendsCommand: Bool
  /// A command that the phone would not show whole is not asked for.
  public var refusesLongCommands: Bool

  public init(
    prompt: PromptMode, methods: [AuthenticationMethod], timeout: Int64, sessionDuration: Int64, sendsContext: Bool,
    mustWatch: Bool, sendsCommand: Bool = false, refusesLongCommands: Bool = false
  ) {
    self.prompt = prompt
    self.methods = methods
    self.timeout = timeout
    self.sessionDuration = sessionDuration
    self.sendsContext = sendsContext
    self.mustWatch = mustWatch
    self.sendsCommand = sendsCommand
    self.refusesLongCommands = refusesLongCommands
  }

  /// The question that comes before the phone rings; nil where it rings at once.
  ///
  /// Ringing at once is for who asks for himself at a terminal: otherwise any local user could ring any phone with
  /// `su NAME`, and bots with ssh.
  func promptBeforeRinging(_ request: LoginRequest) -> String? {
    switch prompt {
    case .push: return nil
    case .auto where request.isOwnTerminal: return nil
    case .auto, .choose:
      return request.hasPassword
        ? "Enter to approve on your phone: " : "Password, or Enter to approve on your phone: "
    }
  }
}
