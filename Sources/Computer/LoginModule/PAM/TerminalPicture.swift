import Glibc
import SystemLibqrencode

/// A QR code at the terminal of the program that asks for a sign-in, such as sudo or login.
enum TerminalPicture {
  /// The light modules around the code. The standard requires four, but phones can read two, which fit more terminals.
  private static let quietZone = 2
  /// The lines that are left for the link and the prompt.
  private static let textLines = 6

  /// The code as lines of half blocks; none unless the terminal shows UTF-8 and has room. sshd has no terminal here.
  static func lines(of text: String) -> [String] {
    guard let (columns, rows) = terminalSize() else { return [] }
    var modules = [UInt8](repeating: 0, count: Int(IAMPASS_QR_GREATEST * IAMPASS_QR_GREATEST))
    // SAFETY: the array has the size that the function writes at most.
    let side = Int(iampass_qr_code(text, &modules))
    let size = side + 2 * quietZone
    guard side > 0, size <= columns, (size + 1) / 2 + textLines <= rows else { return [] }
    func isDark(_ row: Int, _ column: Int) -> Bool {
      let (row, column) = (row - quietZone, column - quietZone)
      return (0..<side).contains(row) && (0..<side).contains(column) && modules[row * side + column] == 1
    }
    return stride(from: 0, to: size, by: 2).map { row in
      var line = ""
      for column in 0..<size {
        switch (isDark(row, column), isDark(row + 1, column)) {
        case (true, true): line += "█"
        case (true, false): line += "▀"
        case (false, true): line += "▄"
        case (false, false): line += " "
        }
      }
      // Black on bright white (ECMA-48), so that the code is dark on light on any terminal.
      return "\u{1B}[30;107m" + line + "\u{1B}[0m"
    }
  }

  /// The size of the first standard descriptor that is a terminal with UTF-8 editing (termios(3), IUTF8). The
  /// environment is not used, because the caller controls it.
  private static func terminalSize() -> (columns: Int, rows: Int)? {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      var settings = termios()
      var size = winsize()
      guard tcgetattr(descriptor, &settings) == 0 else { continue }
      guard settings.c_iflag & tcflag_t(IUTF8) != 0, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
      else { return nil }
      return (Int(size.ws_col), Int(size.ws_row))
    }
    return nil
  }
}
