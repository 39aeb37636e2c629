import IAMPASSProtocol

/// One `name=value` of a log line, for values that outsiders choose: PAM_RHOST, PAM_SERVICE, a user's name.
public enum LogField {
  /// The greatest length of a value in characters. A longer value would push the fields after it off the line.
  static let greatestLength = 256

  /// `name=value`, without white space, control characters and direction marks in the value. It is cut at
  /// ``greatestLength``. A missing or empty value is `-`.
  ///
  /// The value is read by scalars. A combining mark forms one Character with the space before it, and U+00A0 is not `"
  /// "`. If the value were read by Characters, both could begin another field.
  public static func text(_ name: String, _ value: String?) -> String {
    guard let value, !value.isEmpty else { return "\(name)=-" }
    let shown = DisplayText.sanitized(value, limit: greatestLength).unicodeScalars.map {
      $0.properties.isWhitespace ? "?" : $0
    }
    return "\(name)=\(String(String.UnicodeScalarView(shown)))"
  }

  /// The fields about a sign-in that the lines of the module and the helper share, in their order.
  public static func signIn(user: String?, service: String, remoteHost: String?) -> String {
    "\(text("user", user)) \(text("service", service)) \(text("rhost", remoteHost))"
  }
}
