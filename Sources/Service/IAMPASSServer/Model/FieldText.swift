import IAMPASSProtocol

/// A value in a line of `name=value` for people. It is quoted so that the line is unambiguous, because values come from
/// strangers.
public enum FieldText {
  /// The value, sanitized and cut to `limit` characters. It is in quotes, with `\` before `"` and `\`, if it is empty
  /// or has a space, `=`, `"` or `\`.
  public static func quoted(_ value: String, limit: Int = DisplayText.greatestLength) -> String {
    // This works on scalars: with an accent after it, a quote is another Character.
    let scalars = DisplayText.sanitized(value, limit: limit).unicodeScalars
    guard scalars.isEmpty || scalars.contains(where: isSeparating) else { return String(scalars) }
    var text = String.UnicodeScalarView()
    for scalar in scalars {
      if isEscaped(scalar) { text.append("\\") }
      text.append(scalar)
    }
    return "\"" + String(text) + "\""
  }

  private static func isSeparating(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "=" || scalar.properties.isWhitespace || isEscaped(scalar)
  }

  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool { scalar == "\"" || scalar == "\\" }
}
