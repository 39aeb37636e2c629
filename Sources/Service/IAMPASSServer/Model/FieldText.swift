import IAMPASSProtocol

/// A value in a line of `name=value` for people, so that the line reads one way: values came from strangers.
public enum FieldText {
  /// `value` made fit to be shown, cut to `limit` characters. It is in quotes, with `\` before `"` and `\`, if it is empty
  /// or holds a space, `=`, `"` or `\`.
  public static func quoted(_ value: String, limit: Int = DisplayText.greatestLength) -> String {
    // By scalars: with an accent behind it, a quote is another character.
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
