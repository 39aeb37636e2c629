import IAMPASSProtocol

/// One `name=value` of a log line, for values that others choose: PAM_RHOST, PAM_SERVICE, a user's name.
public enum LogField {
  /// Characters of a value. A longer one would push the fields behind it off the line.
  static let greatestLength = 256

  /// `name=value`, the value without white space, controls and marks of direction, and cut at ``greatestLength``; `-`
  /// for no value and for an empty one.
  ///
  /// The value is read by scalars. A combining mark makes one Character with the space before it, and U+00A0 is not
  /// `" "`: read by Characters, both would let a value begin a field of its own.
  public static func text(_ name: String, _ value: String?) -> String {
    guard let value, !value.isEmpty else { return "\(name)=-" }
    let shown = DisplayText.sanitized(value, limit: greatestLength).unicodeScalars.map {
      $0.properties.isWhitespace ? "?" : $0
    }
    return "\(name)=\(String(String.UnicodeScalarView(shown)))"
  }

  /// Whose sign-in a line is about: the fields that the module and the helper share, in their order.
  public static func signIn(user: String?, service: String, remoteHost: String?) -> String {
    "\(text("user", user)) \(text("service", service)) \(text("rhost", remoteHost))"
  }
}
