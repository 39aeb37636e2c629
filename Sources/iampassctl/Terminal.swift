import Glibc
import IAMPASSProtocol

/// What is printed: at once, also into a pipe. Colour and progress on a terminal only.
enum Terminal {
  static func say(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }
  static func complain(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

  /// Why standard output has not taken everything, as errno: a full disk, for one. A reader that is gone is none.
  ///
  /// SAFETY: iampassctl has one thread.
  nonisolated(unsafe) private(set) static var outputError: Int32?

  /// Without a line's end, for prompts and progress.
  static func put(_ text: String) { write(text, to: STDOUT_FILENO) }

  static func say(_ json: JSON) { say(String(decoding: json.encoded(), as: UTF8.self)) }

  static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// On a terminal that shows them, unless NO_COLOR (no-color.org) is there and not empty.
  static let hasColor: Bool = {
    guard isatty(STDOUT_FILENO) == 1, (getenv("NO_COLOR")?.pointee ?? 0) == 0 else { return false }
    return getenv("TERM").map { String(cString: $0) } ?? "dumb" != "dumb"
  }()

  /// Whether standard output is a terminal that moves its cursor and shows block characters.
  static let showsPictures: Bool = {
    guard isatty(STDOUT_FILENO) == 1, let kind = getenv("TERM"), String(cString: kind) != "dumb" else { return false }
    // locale(7): the first that is set says it. Where none is, consoles take UTF-8 today.
    let names: [String] = ["LC_ALL", "LC_CTYPE", "LANG"]
    let values = names.compactMap { name in getenv(name).map { value in String(cString: value) } }
    guard let locale = values.first(where: { !$0.isEmpty })?.lowercased() else { return true }
    return locale.hasSuffix("utf-8") || locale.hasSuffix("utf8")
  }()

  /// The numbers of SGR (ECMA-48).
  enum Color: String {
    case green = "32"
    case yellow = "33"
    case red = "1;31"
    case faint = "2"
  }

  static func colored(_ text: String, _ color: Color) -> String {
    hasColor ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Columns and rows; nil where standard output is no terminal.
  static var size: (columns: Int, rows: Int)? {
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        waitUntilTaken(descriptor)
      } else if errno != EINTR {
        // A reader that is gone cannot be told so; nor can one of standard error.
        if descriptor == STDOUT_FILENO, errno != EPIPE { outputError = outputError ?? errno }
        return
      }
    }
  }

  /// Who has the terminal or pipe too may have made it one that does not block.
  private static func waitUntilTaken(_ descriptor: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = poll(&entry, 1, -1)
  }
}
