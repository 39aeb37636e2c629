/// Text from the service or the caller, made fit to be shown or logged.
public enum DisplayText {
  /// Longer text is cut; a terminal's message needs no more.
  public static let greatestLength = 200

  /// `text` with `?` for what prints nothing or moves its neighbours, cut to `limit` characters.
  public static func sanitized(_ text: String, limit: Int = greatestLength) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(limit) {
      shown.append(isPlain(scalar) ? scalar : "?")
    }
    return String(shown)
  }

  /// All of `text`, for somebody who decides by it: what a reader would not see is named between `‹` and `›`.
  ///
  /// A `‹` of the text itself is named too, so that two texts are never shown alike. A single space between others stays
  /// as it is; more of them, and one at either end, are counted. The phone's page does the same (`shared.js`).
  public static func escaped(_ text: String) -> String {
    if text.isEmpty { return "‹empty›" }
    var shown = ""
    var rest = Substring(text).unicodeScalars
    while let scalar = rest.first {
      if scalar == " " {
        let isFirst = rest.startIndex == text.unicodeScalars.startIndex
        let count = rest.prefix { $0 == " " }.count
        rest = rest.dropFirst(count)
        shown += count > 1 ? "‹\(count) spaces›" : isFirst || rest.isEmpty ? "‹1 space›" : " "
      } else {
        if let name = name(of: scalar) { shown += "‹\(name)›" } else { shown.unicodeScalars.append(scalar) }
        rest = rest.dropFirst()
      }
    }
    return shown
  }

  /// Nil for a character that is seen.
  private static func name(of scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "\t": return "tab"
    case "\n": return "newline"
    case "‹": break
    case _ where !isPlain(scalar) || scalar.properties.isWhitespace: break
    default: return nil
    }
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  /// Whether a reader sees the character, and its neighbours where they are. Spaces of any kind are plain.
  static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7E: true
    // Controls (C0, DEL, C1), line and paragraph separators.
    case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029: false
    // Blank, though Unicode counts them as marks and symbols: Braille without dots, a note's empty head, Khitan's filler.
    case 0x2800, 0x1D159, 0x16FE4: false
    // Annotations, and what stands for something that is not there.
    case 0xFFF9...0xFFFD: false
    // Hieroglyphs' format controls, which are not among the ignorable ones.
    case 0x13430...0x1345F: false
    // Private use: whatever a font makes of it.
    case 0xE000...0xF8FF, 0xF0000...0x10FFFF: false
    // Soft hyphens, joiners, fillers, variation selectors and tags (UAX #44), and marks of direction (UAX #9).
    default:
      !scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isBidiControl
        && !scalar.properties.isNoncharacterCodePoint
    }
  }
}
