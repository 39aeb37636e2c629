/// The least role for each address of the console. Only this table decides: an address that is not in it does not
/// exist, and forms that a browser may not send are not shown.
struct ConsoleRule: Sendable {
  let method: String
  /// Below the console's address; `*` stands for any one segment.
  let pattern: String
  /// The least role; nil: no sign-in is needed.
  let least: AdministratorRole?

  static let all: [ConsoleRule] =
    anybody("GET", "/style.css", "/times.js", "/enter/*", "/sign-in") + anybody("POST", "/enter", "/sign-in")
    + rules(
      .auditor, "GET", "/", "/applications", "/application/*", "/application/*/groups", "/application/*/group",
      "/application/*/user/*", "/joins", "/joins/*", "/sessions", "/audit", "/audit.jsonl", "/administrators")
    + rules(.auditor, "POST", "/leave")
    + rules(
      .helpdesk, "POST", "/application/*/user/*/link", "/application/*/user/*/lost",
      "/application/*/user/*/unblock", "/sessions/*/end")
    + rules(
      .admin, "POST", "/applications", "/application/*/settings", "/application/*/secret",
      "/application/*/disable",
      "/application/*/enable", "/application/*/credentials", "/application/*/notifications", "/application/*/users",
      "/application/*/sign", "/administrators/sign",
      "/application/*/credential/*/rename", "/application/*/credential/*/revoke",
      "/application/*/credential/*/settle", "/application/*/user/*/delete", "/joins", "/joins/*/approve",
      "/joins/*/refuse", "/joins/*/revoke", "/administrators", "/administrators/*/role",
      "/administrators/*/remove", "/administrators/*/link", "/administrators/*/lost")

  private static func anybody(_ method: String, _ patterns: String...) -> [ConsoleRule] {
    patterns.map { ConsoleRule(method: method, pattern: $0, least: nil) }
  }

  private static func rules(_ least: AdministratorRole, _ method: String, _ patterns: String...) -> [ConsoleRule] {
    patterns.map { ConsoleRule(method: method, pattern: $0, least: least) }
  }

  /// Nil for an unknown address.
  ///
  /// - Parameter path: segments below the console's address.
  static func find(_ method: String, _ path: [String]) -> ConsoleRule? {
    all.first { $0.method == method && $0.matches(path) }
  }

  /// - Parameter path: the path in a form, such as `/leave`.
  static func find(posting path: String) -> ConsoleRule? { find("POST", segments(path)) }

  private func matches(_ path: [String]) -> Bool {
    let own = Self.segments(pattern)
    return own.count == path.count && zip(own, path).allSatisfy { $0 == "*" || $0 == $1 }
  }

  static func segments(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }
}
