import HostState
import IAMPASSProtocol

/// A question that takes a password, and something else besides.
///
/// Programs that type passwords wait for "Password: " (expect scripts, pxssh), and sudo puts the prompt of its `-p`, by
/// which Ansible knows it, in the place of exactly that. What else may be typed stands in a line of its own.
struct PasswordQuestion: Equatable {
  static let prompt = "Password: "
  static let enterAlone = "Press Enter alone to approve on your phone"

  /// Said first; nil if the prompt says it all. It must not hold "assword": sshpass would take it for a second prompt.
  var line: String?
  var prompt = PasswordQuestion.prompt
}

/// What the configuration and the module's arguments say about one attempt.
public struct LoginPolicy: Sendable {
  /// The longest time until the service has taken the request, in seconds.
  static let greatestStartSeconds: Int64 = 15
  /// An empty answer that is faster than this comes from a program, in milliseconds: a person needs longer to read the
  /// question.
  static let fastestEnter: Int64 = 250
  /// The pause between two looks whether the user's other request has ended, in milliseconds.
  static let ownRequestStep: Int64 = 1_000
  /// The least time for an answer, in milliseconds. With less time left the phone is not rung.
  static let leastForAnAnswer: Int64 = 3_000
  /// The longest time to cancel a request at the service, in milliseconds.
  static let cancelMilliseconds: Int64 = 1_000
  /// The longest time for the first look at a request that was left open, in milliseconds.
  static let greatestLook: Int64 = 2_000

  public var prompt: PromptMode
  public var methods: [AuthenticationMethod]
  /// The time for the phone's answer in seconds, within ``ApprovalTimeout/bounds``.
  public var timeout: Int64
  /// The session's longest time in seconds.
  public var sessionDuration: Int64
  public var sendsContext: Bool
  /// Whether the helper must watch the session: every session except those of sudo and su.
  public var mustWatch: Bool
  /// Whether the context has the command line.
  public var sendsCommand: Bool
  /// Whether to refuse a command that the phone would not show completely.
  public var refusesLongCommands: Bool
  /// Whether a module after this one asks for a password.
  public var passwordFollows: Bool

  /// The time for the first look at a request that was left open, in milliseconds. Most of the time for an answer is
  /// left: the phone may have to be asked by a new request.
  var lookMilliseconds: Int64 { min(Self.greatestLook, timeout * 1_000 / 4) }

  public init(
    prompt: PromptMode, methods: [AuthenticationMethod], timeout: Int64, sessionDuration: Int64, sendsContext: Bool,
    mustWatch: Bool, sendsCommand: Bool = false, refusesLongCommands: Bool = false, passwordFollows: Bool = true
  ) {
    self.prompt = prompt
    self.methods = methods
    self.timeout = timeout
    self.sessionDuration = sessionDuration
    self.sendsContext = sendsContext
    self.mustWatch = mustWatch
    self.sendsCommand = sendsCommand
    self.refusesLongCommands = refusesLongCommands
    self.passwordFollows = passwordFollows
  }

  /// The question before the phone rings; nil if the phone rings at once.
  ///
  /// The phone rings at once only for users who ask for themselves at a terminal. Otherwise any local user could ring
  /// any phone with `su NAME`, and bots with ssh.
  func questionBeforeRinging(_ request: LoginRequest) -> PasswordQuestion? {
    switch prompt {
    case .push: return nil
    case .auto where request.isOwnTerminal && !request.isAnsweredByProgram: return nil
    case .auto, .choose:
      let isGreeter = DesktopServices.isGreeter(request.service)
      if request.hasPassword {
        return PasswordQuestion(prompt: isGreeter ? "Enter for phone: " : "Enter to approve on your phone: ")
      }
      // A greeter may show only one line, and gnome-shell cuts a longer one.
      if isGreeter { return PasswordQuestion(prompt: "Password, or Enter for phone: ") }
      return PasswordQuestion(line: PasswordQuestion.enterAlone)
    }
  }
}
