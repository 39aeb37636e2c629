import DeviceProtocol
import Glibc
import IAMPASSProtocol

/// What is printed: at once, also into a pipe. Where standard output takes no more, the program ends: nobody would see
/// what is asked and answered.
enum Terminal {
  static func say(_ text: String) { put(text + "\n") }
  static func complain(_ text: String) { _ = write(text + "\n", to: STDERR_FILENO) }

  /// A question, whose answer stands on the same line.
  static func ask(_ text: String) { put(text) }

  private static func put(_ text: String) {
    // A reader that is gone cannot be told so.
    guard let failure = write(text, to: STDOUT_FILENO), failure != EPIPE else { return }
    let problem = PhoneProblem.notPrinted(String(cString: strerror(failure)))
    problem.report()
    exit(problem.exitCode)
  }

  /// - Returns: errno, where not all of it is written.
  private static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // Who has the terminal or pipe too may have made it one that does not block.
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
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

  /// Lines of a name and a value, the values below each other, all of each.
  static func table(_ rows: [(String, String)]) -> String {
    let width = 14
    return rows.map { name, value in
      "  " + name + String(repeating: " ", count: max(1, width - name.count)) + DisplayText.escaped(value)
    }.joined(separator: "\n")
  }
}

extension SignInContext {
  /// As a person reads it; nothing left out. Only our own words are labels: a further pair is called by its name in
  /// quotes, whatever that is.
  var rows: [(String, String)] {
    pairs.map { name, value in
      switch name {
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

  /// In a few words, for one line.
  var summary: String {
    let what = service.map(DisplayText.escaped) ?? (isTransaction ? "a transaction" : "a sign-in")
    return what + (host.map { " on " + DisplayText.escaped($0) } ?? "")
      + (user.map { " as " + DisplayText.escaped($0) } ?? "")
  }
}

extension OpenRequest {
  /// Everything that the service knows of it.
  func description(application: String) -> String {
    let blocked = (blocked ?? 0) > 0 ? [("held back", "\(blocked ?? 0) more from there")] : []
    let code = asksCode ? [("code", "the terminal shows one")] : []
    let cut = context.longCommand == nil ? [] : [("left out", "the middle of the command, which is too long")]
    let rows =
      [("application", application)] + context.rows + cut + code + blocked
      + [("time left", Terminal.duration(secondsLeft))]
    return (context.isTransaction ? "transaction\n" : "sign-in request\n") + Terminal.table(rows)
  }
}
