import HostState
import IAMPASSProtocol

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
