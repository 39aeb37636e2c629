/// Makes text from the service or the caller safe to show and to log.
public enum DisplayText {
  /// The default limit in characters. Longer text is cut.
  public static let greatestLength = 200

  /// `text` cut to `limit` characters, with `?` for each character that is invisible or moves its neighbours.
  public static func sanitized(_ text: String, limit: Int = greatestLength) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(limit) {
      shown.append(isPlain(scalar) ? scalar : "?")
    }
    return String(shown)
  }

  /// All of `text`, for a reader who decides by it. Each character that the reader would not see is named between `‹`
  /// and `›`.
  ///
  /// A `‹` in the text is named too, so that two different texts never look alike. A single space between other
  /// characters stays as it is. Repeated spaces, and a space at either end, are counted. `shared.js` of the phone's
  /// page does the same.
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

  /// The character's name; nil for a visible character.
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

  /// Whether a reader sees the character, and sees its neighbours in their places. Spaces of any kind count as plain.
  static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7E: true
    // Controls (C0, DEL, C1), line and paragraph separators.
    case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029: false
    // Blank glyphs that Unicode counts as marks and symbols: blank Braille, a null notehead, Khitan's filler.
    case 0x2800, 0x1D159, 0x16FE4: false
    // Annotations, and replacement characters.
    case 0xFFF9...0xFFFD: false
    // Hieroglyphs' format controls, which Unicode does not count as ignorable.
    case 0x13430...0x1345F: false
    // Private use: a font may draw anything.
    case 0xE000...0xF8FF, 0xF0000...0x10FFFF: false
    // Soft hyphens, joiners, fillers, variation selectors and tags (UAX #44), and marks of direction (UAX #9).
    default:
      !scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isBidiControl
        && !scalar.properties.isNoncharacterCodePoint
    }
  }
}
