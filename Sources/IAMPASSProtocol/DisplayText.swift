/// Text from the service or the caller, made fit to be shown or logged.
public enum DisplayText {
  /// Longer text is cut; a terminal's message needs no more.
  public static let greatestLength = 200

  /// `text` with `?` for control characters (C0, C1, DEL), line and paragraph separators and bidirectional marks, cut
  /// to `limit` characters.
  public static func sanitized(_ text: String, limit: Int = greatestLength) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(limit) {
      shown.append(isSafe(scalar) ? scalar : "?")
    }
    return String(shown)
  }

  private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1F, 0x7F...0x9F: false
    // Zero-width and bidirectional marks, Unicode Standard Annex #9.
    case 0x061C, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F: false
    case 0x2028, 0x2029: false
    // What stood here was not UTF-8, or says nothing; tags are invisible.
    case 0xFEFF, 0xFFF9...0xFFFD, 0xE0000...0xE007F: false
    default: true
    }
  }
}
