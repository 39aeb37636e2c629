import HostState
import PAMStacks

/// The words after `pam_iampass.so`, judged by the module's own reader. A bad value refuses every sign-in, and an
/// unknown word is only logged.
public enum ModuleWords {
  public static func findings(_ line: PAMLine, service: String) -> [Finding] {
    let arguments = line.moduleArguments
    let bad = arguments.bad.map { word in
      Finding(
        .problem, .pam, "\(service): bad module argument \(word) refuses every sign-in by phone (\(line.place))",
        hint: ModuleArguments.grammar)
    }
    let unknown = arguments.unknown.map { name in
      Finding(
        .warning, .pam, "\(service): unknown module argument \(name) (\(line.place))",
        hint: "check its spelling, or remove it")
    }
    return bad + unknown
  }
}
