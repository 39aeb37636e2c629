import HostState

/// The words after `pam_iampass.so`, judged by the module's own reader: a bad value refuses every sign-in, an unknown
/// word is only logged.
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

extension PAMLine {
  /// The line's words as libpam hands them to the module, and as the module takes them.
  public var moduleArguments: ModuleArguments { ModuleArguments(reading: arguments.map(Self.unbracketed)) }

  /// libpam takes the brackets off a word that has them, and the backslash before a `]` inside (pam.conf(5)).
  private static func unbracketed(_ word: String) -> String {
    guard word.hasPrefix("["), word.hasSuffix("]") else { return word }
    var text = ""
    var rest = word.unicodeScalars.dropFirst().dropLast()
    while let scalar = rest.popFirst() {
      if scalar == "\\", rest.first == "]" { continue }
      text.unicodeScalars.append(scalar)
    }
    return text
  }
}
