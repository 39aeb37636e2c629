import HostState
import IAMPASSProtocol

/// The words after `pam_iampass.so`, as the module takes them: a bad value refuses every sign-in, an unknown word is
/// only logged.
public enum ModuleWords {
  /// In seconds; the module's own.
  static let timeoutBounds: ClosedRange<Int64> = 5...90

  public static func findings(_ line: PAMLine, service: String) -> [Finding] {
    line.arguments.compactMap { word in
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let isGood = isGood(parts[0], parts.count > 1 ? parts[1] : nil) else {
        return Finding(
          .warning, .pam, "\(service): unknown module argument \(parts[0]) (\(line.place))",
          hint: "check its spelling, or remove it")
      }
      return isGood
        ? nil
        : Finding(
          .problem, .pam, "\(service): bad module argument \(word) refuses every sign-in by phone (\(line.place))",
          hint: "config=PATH timeout=5s–90s prompt=auto|choose|push methods=a,b fail=closed|open debug")
    }
  }

  /// Nil for a word that the module does not know.
  private static func isGood(_ name: String, _ value: String?) -> Bool? {
    switch (name, value) {
    case ("config", let path?): path.hasPrefix("/")
    case ("timeout", let text?): TimeSpan.seconds(text).map { timeoutBounds.contains($0) } ?? false
    case ("prompt", let mode?): ["auto", "choose", "push"].contains(mode)
    case ("methods", let text?):
      text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy {
        AuthenticationMethod(rawValue: String($0)) != nil
      }
    case ("fail", let text?): ["open", "closed"].contains(text)
    case ("debug", nil): true
    case ("config", nil), ("timeout", nil), ("prompt", nil), ("methods", nil), ("fail", nil): false
    default: nil
    }
  }
}
