import CommandSupport
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// What can go wrong with a phone.
extension CommandProblem {
  private static let usage: Int32 = 64
  private static let badInput: Int32 = 65
  private static let noInput: Int32 = 66
  private static let unavailable: Int32 = 69
  private static let cannotCreate: Int32 = 73
  private static let ioError: Int32 = 74
  private static let protocolError: Int32 = 76
  private static let notPermitted: Int32 = 77
  private static let noRandomness: Int32 = 71

  static func notALink(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(DisplayText.sanitized(text)) is not a registration link",
      hint: "a registration link looks like https://iampass.example.org/register/0123abcd…", exitCode: usage)
  }

  static func registeredAlready(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) already holds a registered phone",
      hint: "name another file, or replace that phone with --force",
      exitCode: cannotCreate)
  }

  static func notReadable(_ path: String, _ detail: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) cannot be read: \(detail)", hint: "register a phone first, or check the file's owner and mode",
      exitCode: noInput)
  }

  static func authorityNotReadable(_ path: String, _ detail: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) cannot be read: \(detail)", hint: "name a readable PEM file with --ca", exitCode: noInput)
  }

  static func notPrinted(_ detail: String) -> CommandProblem {
    CommandProblem(
      message: "the output cannot be written: \(detail)", hint: "check the disk's free space", exitCode: ioError)
  }

  static func notWritable(_ path: String, _ detail: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) cannot be written: \(detail)", hint: "choose a file in a directory of your own",
      exitCode: cannotCreate)
  }

  static func unsafeState(_ path: String) -> CommandProblem {
    CommandProblem(message: "\(path) can be read by others", hint: "chmod 600 \(path)", exitCode: badInput)
  }

  static func brokenState(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) is not a phone's state file", hint: "register again with a new link", exitCode: badInput)
  }

  static func brokenReply(_ what: String) -> CommandProblem {
    CommandProblem(
      message: "the service's reply to \(what) is invalid",
      hint: "check that the address is an iampass-server's, and its version", exitCode: protocolError)
  }

  /// The phone has left, but its sessions go on.
  static func nobodyWalksAway(from application: String) -> CommandProblem {
    CommandProblem(
      message: "no session ends: walkaway is off for \(DisplayText.sanitized(application))",
      hint: "log out at each computer, or have walkaway switched on for the application", exitCode: notPermitted)
  }

  static let noRequestWithCode = CommandProblem(
    message: "no open request has this code: nothing is approved",
    hint: "check the code on the terminal, or answer each request with --answer ask", exitCode: badInput)

  static let noKey = CommandProblem(
    message: "the system could not make a key", hint: "check the kernel's log", exitCode: noRandomness)

  init(_ error: TransportError) {
    let detail = DisplayText.sanitized(error.detail)
    self.init(
      message: "the service cannot be reached: \(error.code)" + (detail.isEmpty ? "" : " (\(detail))"),
      hint: Self.hint(error.code), exitCode: Self.unavailable)
  }

  /// A refusal, with the service's reason.
  init(status: Int, reason: String) {
    switch reason {
    case "UNKNOWN_LINK":
      self.init(message: "the service does not know this link", hint: "ask for a new link", exitCode: Self.badInput)
    case "LINK_USED":
      self.init(message: "the link has already been used", hint: "ask for a new link", exitCode: Self.badInput)
    case "LINK_EXPIRED":
      self.init(message: "the link has expired", hint: "ask for a new link", exitCode: Self.badInput)
    case "HAS_MOBILE_DEVICE":
      self.init(
        message: "this user already has a registered phone",
        hint: "to replace that phone, ask the administrator to report it as lost",
        exitCode: Self.notPermitted)
    case "DEVICE_CUT_OFF", "UNKNOWN_DEVICE":
      self.init(
        message: "this phone is no longer registered", hint: "register again with a new link",
        exitCode: Self.notPermitted)
    case "TIMESTAMP_OUTSIDE_WINDOW":
      self.init(
        message: "this machine's clock is more than 5 minutes off", hint: "correct the clock",
        exitCode: Self.unavailable)
    default:
      self.init(
        message:
          "the service refused: \(ReasonWord.text(of: reason) ?? "the reason is unknown to this version") (\(status))",
        hint: "check the service's log", exitCode: Self.protocolError)
    }
  }

  private static func hint(_ code: TransportError.Code) -> String {
    switch code {
    case .certificateUntrusted: "register again, with the authority's certificate in --ca"
    case .workerFailed, .workerDied: "check that iampass-https is beside this program, or in /usr/libexec/iampass"
    default: "check the address and the network, then try again"
    }
  }
}
