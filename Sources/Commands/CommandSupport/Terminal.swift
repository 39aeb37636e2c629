import Glibc
import HostSystem

/// Prints at once, also into a pipe. Colour and progress are shown only on a terminal.
public enum Terminal {
  public static func say(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }
  public static func complain(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

  /// The errno of a failed write to standard output, such as on a full disk. A closed pipe does not count.
  ///
  /// SAFETY: commands that print here have one thread.
  nonisolated(unsafe) public private(set) static var outputError: Int32?

  /// Prints without a line's end, for prompts and progress.
  public static func put(_ text: String) { write(text, to: STDOUT_FILENO) }

  public static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// Whether colours are shown: on a terminal that has them, unless NO_COLOR (no-color.org) is set and not empty.
  public static let hasColor: Bool = {
    guard isatty(STDOUT_FILENO) == 1, (getenv("NO_COLOR")?.pointee ?? 0) == 0 else { return false }
    return getenv("TERM").map { String(cString: $0) } ?? "dumb" != "dumb"
  }()

  /// Whether standard output is a terminal that moves its cursor and shows block characters.
  public static let showsPictures: Bool = {
    guard isatty(STDOUT_FILENO) == 1, let kind = getenv("TERM"), String(cString: kind) != "dumb" else { return false }
    // locale(7): the first set variable decides. Without any, consoles use UTF-8 today.
    let names: [String] = ["LC_ALL", "LC_CTYPE", "LANG"]
    let values = names.compactMap { name in getenv(name).map { value in String(cString: value) } }
    guard let locale = values.first(where: { !$0.isEmpty })?.lowercased() else { return true }
    return locale.hasSuffix("utf-8") || locale.hasSuffix("utf8")
  }()

  /// Colours by their numbers in SGR (ECMA-48).
  public enum Color: String {
    case green = "32"
    case yellow = "33"
    case red = "1;31"
    case faint = "2"
  }

  public static func colored(_ text: String, _ color: Color) -> String {
    hasColor ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Columns and rows; nil if standard output is not a terminal.
  public static var size: (columns: Int, rows: Int)? {
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  private static func write(_ text: String, to descriptor: Int32) {
    guard let failure = WholeText.write(text, to: descriptor) else { return }
    // A closed pipe is not an error. A failure of standard error cannot be reported.
    if descriptor == STDOUT_FILENO, failure != EPIPE { outputError = outputError ?? failure }
  }
}
