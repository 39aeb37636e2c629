import IAMPASSProtocol

/// Findings about differences between the users file and the system.
public struct UserFindings {
  /// The most names in one line. The others are counted.
  public static let greatestNamed = 8

  /// The names in the users file, in its order.
  public let withToken: [String]
  /// The people on this system: users who may sign in with a shell.
  public let people: [String]
  /// Names with a token that the system does not know.
  public let unknown: [String]
  /// Users with a token but no phone, by the service's answer; nil if it was not asked.
  public let withoutPhone: [String]?

  public init(withToken: [String], people: [String], unknown: [String], withoutPhone: [String]?) {
    self.withToken = withToken
    self.people = people
    self.unknown = unknown
    self.withoutPhone = withoutPhone
  }

  public var findings: [Finding] {
    var findings: [Finding] = []
    if withToken.isEmpty {
      findings.append(Finding(.warning, .users, "nobody has a token", hint: "iampassctl user add NAME"))
    } else {
      findings.append(Finding(.ok, .users, Self.counted(withToken, "user", "has a token", "have a token")))
    }
    // This compares bytes: two spellings of one letter are two users.
    let tokens = Set(withToken.map { Array($0.utf8) })
    let without = people.filter { !tokens.contains(Array($0.utf8)) }
    if !without.isEmpty {
      findings.append(
        Finding(.ok, .users, "without a token, asked for passwords only: \(Self.list(without))"))
    }
    if !unknown.isEmpty {
      findings.append(
        Finding(
          .warning, .users, "with a token, but not known to this system: \(Self.list(unknown))",
          // Other computers may know the user, and may still use the token.
          hint: "iampassctl user remove --local \(DisplayText.sanitized(unknown[0]))"))
    }
    if let withoutPhone, !withoutPhone.isEmpty {
      findings.append(
        Finding(
          .warning, .users, "with a token, but without a phone: \(Self.list(withoutPhone))",
          hint: "iampassctl enroll \(DisplayText.sanitized(withoutPhone[0]))"))
    }
    return findings
  }

  private static func counted(_ names: [String], _ word: String, _ one: String, _ many: String) -> String {
    names.count == 1 ? "1 \(word) \(one)" : "\(names.count) \(word)s \(many)"
  }

  static func list(_ names: [String]) -> String {
    let shown = names.prefix(greatestNamed).map { DisplayText.sanitized($0, limit: 64) }.joined(separator: ", ")
    return names.count > greatestNamed ? "\(shown) and \(names.count - greatestNamed) more" : shown
  }
}
