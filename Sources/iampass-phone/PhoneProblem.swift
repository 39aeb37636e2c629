import IAMPASSClient
import IAMPASSProtocol

/// What went wrong, for the person at the terminal: what, where, and what next.
struct PhoneProblem: Error {
  let message: String
  let hint: String
  /// Of sysexits.h.
  let exitCode: Int32

  func report() { Terminal.complain("iampass-phone: \(message)\nhint: \(hint)") }

  private static let usage: Int32 = 64
  private static let badInput: Int32 = 65
  private static let noInput: Int32 = 66
  private static let unavailable: Int32 = 69
  private static let cannotCreate: Int32 = 73
  private static let ioError: Int32 = 74
  private static let protocolError: Int32 = 76
  private static let notPermitted: Int32 = 77
  private static let noRandomness: Int32 = 71

  static func notALink(_ text: String) -> PhoneProblem {
    PhoneProblem(
      message: "\(DisplayText.sanitized(text)) is no registration link",
      hint: "a link looks like https://iampass.example.org/register/0123abcd…", exitCode: usage)
  }

  static func registeredAlready(_ path: String) -> PhoneProblem {
    PhoneProblem(
      message: "\(path) holds a registered phone", hint: "name another file, or give --force to forget that phone",
      exitCode: cannotCreate)
  }

  static func notReadable(_ path: String, _ detail: String) -> PhoneProblem {
    PhoneProblem(
      message: "\(path) cannot be read: \(detail)", hint: "register a phone first, and look at the file's mode",
      exitCode: noInput)
  }

  static func authorityNotReadable(_ path: String, _ detail: String) -> PhoneProblem {
    PhoneProblem(
      message: "\(path) cannot be read: \(detail)", hint: "name a readable PEM file with --ca", exitCode: noInput)
  }

  static func notPrinted(_ detail: String) -> PhoneProblem {
    PhoneProblem(
      message: "the output cannot be written: \(detail)", hint: "look at the space on its disk", exitCode: ioError)
  }

  static func notWritable(_ path: String, _ detail: String) -> PhoneProblem {
    PhoneProblem(
      message: "\(path) cannot be written: \(detail)", hint: "choose a directory of your own for it",
      exitCode: cannotCreate)
  }

  static func unsafeState(_ path: String) -> PhoneProblem {
    PhoneProblem(message: "\(path) can be read by others", hint: "chmod 600 \(path)", exitCode: badInput)
  }

  static func brokenState(_ path: String) -> PhoneProblem {
    PhoneProblem(
      message: "\(path) is no state file of a phone", hint: "register again with a new link", exitCode: badInput)
  }

  static func brokenReply(_ what: String) -> PhoneProblem {
    PhoneProblem(
      message: "the service's reply to \(what) is not understood",
      hint: "is this the address of an iampass-server, and of this version?", exitCode: protocolError)
  }

  /// The phone has left, and its sessions have not.
  static func nobodyWalksAway(from application: String) -> PhoneProblem {
    PhoneProblem(
      message: "nobody is signed out: at \(DisplayText.sanitized(application)) sessions do not leave with their phone",
      hint: "log out at each computer; walkaway is a setting of the application", exitCode: notPermitted)
  }

  static let noRequestWithCode = PhoneProblem(
    message: "no open request has this code: nothing is approved",
    hint: "look at the terminal again, or answer each request with --answer ask", exitCode: badInput)

  static let noKey = PhoneProblem(
    message: "the system makes no key", hint: "look at the kernel's log", exitCode: noRandomness)

  init(_ error: TransportError) {
    let detail = DisplayText.sanitized(error.detail)
    self.init(
      message: "the service cannot be reached: \(error.code)" + (detail.isEmpty ? "" : " (\(detail))"),
      hint: Self.hint(error.code), exitCode: Self.unavailable)
  }

  /// A refusal with the service's reason.
  init(status: Int, reason: String) {
    switch reason {
    case "UNKNOWN_LINK":
      self.init(message: "the service does not know this link", hint: "ask for a new one", exitCode: Self.badInput)
    case "LINK_USED":
      self.init(message: "the link was used before", hint: "ask for a new one", exitCode: Self.badInput)
    case "LINK_EXPIRED":
      self.init(message: "the link's time is over", hint: "ask for a new one", exitCode: Self.badInput)
    case "HAS_MOBILE_DEVICE":
      self.init(
        message: "this user has a phone already",
        hint: "leave it as it is, or have it reported as lost: that gives a link that replaces it",
        exitCode: Self.notPermitted)
    case "DEVICE_CUT_OFF", "UNKNOWN_DEVICE":
      self.init(
        message: "this phone is no longer registered", hint: "register again with a new link",
        exitCode: Self.notPermitted)
    case "TIMESTAMP_OUTSIDE_WINDOW":
      self.init(
        message: "this machine's clock is more than 5 minutes off", hint: "set the clock", exitCode: Self.unavailable)
    default:
      self.init(
        message:
          "the service refuses: \(ReasonWord.text(of: reason) ?? "for a reason that this version does not know") (\(status))",
        hint: "look at the service's log", exitCode: Self.protocolError)
    }
  }

  init(message: String, hint: String, exitCode: Int32) {
    self.message = message
    self.hint = hint
    self.exitCode = exitCode
  }

  private static func hint(_ code: TransportError.Code) -> String {
    switch code {
    case .certificateUntrusted: "give the authority's certificate with --ca when registering"
    case .workerFailed, .workerDied: "is iampass-https beside this program, or in /usr/libexec/iampass?"
    default: "look at the address and the network, and try again"
    }
  }
}
