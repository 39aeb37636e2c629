import CommandSupport
import DeviceProtocol
import Glibc
import HostSystem
import IAMPASSProtocol

/// Prints immediately, also into a pipe. The program ends if standard output fails, since nobody would see the requests
/// and answers.
enum PhoneTerminal {
  static func say(_ text: String) { put(text + "\n") }
  static func complain(_ text: String) { _ = WholeText.write(text + "\n", to: STDERR_FILENO) }

  /// Asks a question. The answer follows on the same line.
  static func ask(_ text: String) { put(text) }

  private static func put(_ text: String) {
    // A reader that has closed the pipe cannot be told.
    guard let failure = WholeText.write(text, to: STDOUT_FILENO), failure != EPIPE else { return }
    let problem = CommandProblem.notPrinted(String(cString: strerror(failure)))
    problem.report(by: "iampass-phone")
    exit(problem.exitCode)
  }

  /// "45 s", "12 min", "3 h 5 min", "2 d 4 h".
  static func duration(_ seconds: Int64) -> String {
    let seconds = max(seconds, 0)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3_600: return "\(seconds / 60) min"
    case ..<86_400: return "\(seconds / 3_600) h" + (seconds / 60 % 60 == 0 ? "" : " \(seconds / 60 % 60) min")
    default: return "\(seconds / 86_400) d" + (seconds / 3_600 % 24 == 0 ? "" : " \(seconds / 3_600 % 24) h")
    }
  }

  /// A line about a recovery code that was used on a computer that could not ask this phone.
  static func line(of use: CodeUseReport) -> String {
    let from = use.context.remoteHost.map { " from \(DisplayText.escaped($0))" } ?? ""
    let way =
      switch use.way {
      case .recovery: "a recovery code"
      case .phone: "this phone without network"
      }
    let left = use.left.map { ", \($0) left" } ?? ""
    let open = use.isOpen ? ", and still is: iampass-phone end \(use.id) ends it" : ""
    return
      "signed in by \(way): \(use.context.summary)\(from), \(duration(Int64(time(nil)) - use.usedAt)) ago\(left)\(open); "
      + "if that was not you, tell your administrator"
  }

  /// The beginning of a session's name, as in lists of computers. Logs have the whole name.
  static func short(_ session: String) -> String { String(session.prefix(8)) }

  /// Lines of a name and an aligned value, in full.
  static func table(_ rows: [(String, String)]) -> String {
    let width = 14
    return rows.map { name, value in
      "  " + name + String(repeating: " ", count: max(1, width - name.count)) + DisplayText.escaped(value)
    }.joined(separator: "\n")
  }
}

extension SignInContext {
  /// All pairs, for a person to read. Only our own words are labels. Any other name is shown in quotes.
  var rows: [(String, String)] {
    pairs.map { name, value in
      switch name {
      case "asked_by": ("asked by", value)
      case "match_code" where isWithoutCode: ("code", value)
      case "tty": ("terminal", value)
      case "remote_host": ("from", value)
      case "command" where longCommand != nil: ("command’s beginning", value)
      case "command_end": ("command’s end", value)
      case "command_length": ("command’s length", value)
      case "command_sha256": ("command’s SHA-256", value)
      default: (Self.names.contains(name) ? name : "“\(DisplayText.escaped(name))”", value)
      }
    }
  }

  /// A few words for one line.
  var summary: String {
    let what = service.map(DisplayText.escaped) ?? (isTransaction ? "a transaction" : "a sign-in")
    return what + (host.map { " on " + DisplayText.escaped($0) } ?? "")
      + (user.map { " as " + DisplayText.escaped($0) } ?? "")
  }
}

extension OpenRequest {
  /// Everything that the service sent about this request.
  func description(application: String) -> String {
    let blocked = (blocked ?? 0) > 0 ? [("held back", "\(blocked ?? 0) more from there")] : []
    let code = asksCode ? [("code", "the terminal shows one")] : []
    let cut = context.longCommand == nil ? [] : [("left out", "the middle of the command, which is too long")]
    let another = isForAnother ? [("locum", "for \(context.user ?? "a user"), who has no phone at hand")] : []
    let rows =
      another + [("application", application)] + context.rows + cut + code + blocked
      + [("session", PhoneTerminal.short(session)), ("time left", PhoneTerminal.duration(secondsLeft))]
    return (context.isTransaction ? "transaction\n" : "sign-in request\n") + PhoneTerminal.table(rows)
  }
}
