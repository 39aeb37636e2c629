import HostState

extension PAMLine {
  /// This product's module, and the one for security keys.
  package static let (ownModule, keyModule) = ("pam_iampass", "pam_u2f")

  /// Whether this is a line of the module that does not ask the phone.
  public var servesKeyring: Bool { moduleName == Self.ownModule && moduleArguments.servesKeyring }

  /// Whether this is a line of the module that asks the phone or opens a session.
  package var isOwn: Bool { moduleName == Self.ownModule && !servesKeyring }

  /// The line's words as libpam passes them to the module, parsed as the module parses them.
  public var moduleArguments: ModuleArguments { ModuleArguments(reading: arguments.map(Self.unbracketed)) }

  /// libpam removes the brackets around a word, and the backslash before a `]` inside (pam.conf(5)).
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
