import CommandSupport
import DeviceProtocol
import Glibc
import IAMPASSClient
import IAMPASSPhone
import IAMPASSProtocol
import WorkerLink

/// What can go wrong with a phone.
extension CommandProblem {
  static func notALink(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(DisplayText.sanitized(text)) is not a registration link",
      hint: "a registration link looks like https://iampass.example.org/register/0123abcd…", exitCode: EX_USAGE)
  }

  /// The link is not shown: it may have most of its secret.
  static let linkWithoutItsSecret = CommandProblem(
    message: "the part of the link after # is invalid: the link was not copied whole",
    hint: "copy the whole link, or ask for a new link", exitCode: EX_USAGE)

  static func registeredAlready(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) already holds a registered phone",
      hint: "name another file, or replace that phone with --force",
      exitCode: EX_CANTCREAT)
  }

  static func notReadable(_ path: String, _ detail: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) cannot be read: \(detail)", hint: "register a phone first, or check the file's owner and mode",
      exitCode: EX_NOINPUT)
  }

  static func authorityNotReadable(_ path: String, _ detail: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) cannot be read: \(detail)", hint: "name a readable PEM file with --ca", exitCode: EX_NOINPUT)
  }

  static func notPrinted(_ detail: String) -> CommandProblem {
    CommandProblem(
      message: "the output cannot be written: \(detail)", hint: "check the disk's free space", exitCode: EX_IOERR)
  }

  /// The service has forgotten the phone already.
  static func notRemoved(_ path: String, _ detail: String) -> CommandProblem {
    CommandProblem(
      message: "the phone is unregistered, but \(path) cannot be removed: \(detail)", hint: "rm \(path)",
      exitCode: EX_IOERR)
  }

  static func notWritable(_ path: String, _ detail: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) cannot be written: \(detail)", hint: "choose a file in a directory of your own",
      exitCode: EX_CANTCREAT)
  }

  static func unsafeState(_ path: String) -> CommandProblem {
    CommandProblem(message: "\(path) can be read by others", hint: "chmod 600 \(path)", exitCode: EX_DATAERR)
  }

  static func brokenState(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) is not a phone's state file", hint: "register again with a new link", exitCode: EX_DATAERR)
  }

  private static let brokenReply = CommandProblem(
    message: "the service's reply to this is invalid",
    hint: "check that the address is an iampass-server's, and its version", exitCode: EX_PROTOCOL)

  /// The phone has left, but its sessions go on.
  static func nobodyWalksAway(from application: String) -> CommandProblem {
    CommandProblem(
      message: "no session ends: walkaway is off for \(DisplayText.sanitized(application))",
      hint: "log out at each computer, or have walkaway switched on for the application", exitCode: EX_NOPERM)
  }

  static let notAnOfflineLink = CommandProblem(
    message: "this is not the link of a computer without a network",
    hint: "copy the whole link, in quotes: it ends behind #offline=", exitCode: EX_USAGE)

  static func linkOfAnotherService(_ address: String, _ account: String) -> CommandProblem {
    CommandProblem(
      message: "the link leads to \(DisplayText.sanitized(address)), and this phone's service is \(account)",
      hint: "name the state file of the phone that is registered there", exitCode: EX_DATAERR)
  }

  static let needsUnlockedPhone = CommandProblem(
    message: "the computer asks for an unlocked phone, and this command cannot prove that: nothing is approved",
    hint: "open the link with a phone that has a screen lock", exitCode: EX_UNAVAILABLE)

  static let noRequestWithCode = CommandProblem(
    message: "no open request has this code: nothing is approved",
    hint: "check the code on the terminal, or answer each request with --answer ask", exitCode: EX_DATAERR)

  static let noKey = CommandProblem(
    message: "the system could not make a key", hint: "check the kernel's log", exitCode: EX_OSERR)

  init(_ error: RegistrationLinkError) {
    switch error {
    case .notALink(let text): self = .notALink(text)
    case .linkWithoutItsSecret: self = .linkWithoutItsSecret
    }
  }

  init(_ error: PhoneError) {
    switch error {
    case .transport(let error): self.init(error)
    case .refused(let status, let reason): self.init(status: status, reason: reason)
    case .unavailable(let status):
      self.init(
        message: "the service is unavailable (status \(status))", hint: "try again later", exitCode: EX_UNAVAILABLE)
    case .badReply: self = .brokenReply
    case .key, .noRandomness: self = .noKey
    // `Decisions` answers such a request by `unable`.
    case .methodNotSupported, .documentNotShown: self.init(status: 403, reason: "METHOD_NOT_AVAILABLE")
    }
  }

  private init(_ error: TransportError) {
    let detail = DisplayText.sanitized(error.detail)
    self.init(
      message: "the service cannot be reached: \(error.code)" + (detail.isEmpty ? "" : " (\(detail))"),
      hint: Self.hint(error.code), exitCode: EX_UNAVAILABLE)
  }

  /// A refusal, with the service's reason.
  private init(status: Int, reason: String) {
    switch reason {
    case "UNKNOWN_LINK":
      self.init(message: "the service does not know this link", hint: "ask for a new link", exitCode: EX_DATAERR)
    case "LINK_USED":
      self.init(message: "the link has already been used", hint: "ask for a new link", exitCode: EX_DATAERR)
    case "LINK_EXPIRED":
      self.init(message: "the link has expired", hint: "ask for a new link", exitCode: EX_DATAERR)
    case "HAS_MOBILE_DEVICE":
      self.init(
        message: "this user already has a registered phone",
        hint: "to replace that phone, ask the administrator to report it as lost",
        exitCode: EX_NOPERM)
    case "DEVICE_CUT_OFF", "UNKNOWN_DEVICE":
      self.init(
        message: "this phone is no longer registered", hint: "register again with a new link",
        exitCode: EX_NOPERM)
    case "UNKNOWN_SESSION":
      self.init(
        message: "the service does not know one of these sessions: no session was ended",
        hint: "iampass-phone status --json lists this phone's sessions", exitCode: EX_DATAERR)
    case "TIMESTAMP_OUTSIDE_WINDOW":
      self.init(
        message: "this machine's clock is more than 5 minutes off", hint: "correct the clock",
        exitCode: EX_UNAVAILABLE)
    default:
      self.init(
        message:
          "the service refused: \(ReasonWord.text(of: reason) ?? "the reason is unknown to this version") (\(status))",
        hint: "check the service's log", exitCode: EX_PROTOCOL)
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
