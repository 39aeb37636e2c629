import CQRCode

/// A QR code (ISO/IEC 18004), as a square of dark and light modules with its quiet zone.
public struct QRPicture: Sendable {
  /// Four modules, as the standard requires around the code.
  static let quietZone = 4

  /// The modules of one side, including the quiet zone.
  public let size: Int
  private let dark: [Bool]

  /// Nil if the text does not fit into a code.
  public init?(_ text: String) {
    // Level L: a screen is not smudged, and a smaller code fits into more terminals.
    guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L) else { return nil }
    defer { QRcode_free(code) }
    let width = Int(code.pointee.width)
    let size = width + 2 * Self.quietZone
    var dark = [Bool](repeating: false, count: size * size)
    for row in 0..<width {
      for column in 0..<width {
        // SAFETY: libqrencode's data has width × width bytes.
        let isDark = code.pointee.data[row * width + column] & 1 == 1
        dark[(row + Self.quietZone) * size + column + Self.quietZone] = isDark
      }
    }
    self.size = size
    self.dark = dark
  }

  public func isDark(row: Int, column: Int) -> Bool {
    (0..<size).contains(row) && (0..<size).contains(column) && dark[row * size + column]
  }

  /// The code as lines of half blocks, with two rows of modules in each line. Foreground and background are both set,
  /// so that the code is dark on light on any terminal.
  public func terminalLines() -> [String] {
    stride(from: 0, to: size, by: 2).map { row in
      let cells = (0..<size).map { column -> Character in
        switch (isDark(row: row, column: column), isDark(row: row + 1, column: column)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      // 30: black; 107: bright white.
      return "\u{1B}[30;107m" + String(cells) + "\u{1B}[0m"
    }
  }

  /// Whether the code fits a terminal of this size, with one line left for the shell's prompt.
  public func fits(columns: Int, rows: Int) -> Bool { size <= columns && (size + 1) / 2 + 1 <= rows }
}
