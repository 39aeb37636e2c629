/// Counts the terminal columns of a text.
public enum TerminalColumns {
  /// Characters that take two columns (Unicode Standard Annex #11). The ranges include a few that take one.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
    0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
  ]

  /// The longest beginning of the text that fits.
  public static func prefix(of text: String, columns: Int) -> String {
    var left = columns
    return String(
      text.prefix { character in
        left -= character.unicodeScalars.reduce(0) { $0 + width(of: $1) }
        return left >= 0
      })
  }

  private static func width(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: 0
    default: wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
  }
}
