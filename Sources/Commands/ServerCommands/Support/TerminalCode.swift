import CommandSupport
import QRCodes

/// A link as a QR code on the terminal.
enum TerminalCode {
  /// Nothing, unless the terminal shows pictures and has the room.
  static func show(_ link: String) {
    guard let size = Terminal.size, Terminal.showsPictures else { return }
    guard let picture = QRPicture(link), picture.fits(columns: size.columns, rows: size.rows) else {
      return Terminal.say("(this window is too small for the QR code)")
    }
    for line in picture.terminalLines() { Terminal.say(line) }
  }
}
