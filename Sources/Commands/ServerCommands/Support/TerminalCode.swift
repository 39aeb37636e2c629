import CommandSupport
import QRCodes

/// Shows a link as a QR code on the terminal.
enum TerminalCode {
  /// Shows it only if the terminal can show it and is large enough.
  static func show(_ link: String) {
    guard let size = Terminal.size, Terminal.showsPictures else { return }
    guard let picture = QRPicture(link), picture.fits(columns: size.columns, rows: size.rows) else {
      return Terminal.say("(this window is too small for the QR code)")
    }
    for line in picture.terminalLines() { Terminal.say(line) }
  }
}
