import HostState

extension PAMLine {
  /// This product's module, and the one for security keys.
  package static let (ownModule, keyModule) = ("pam_iampass", "pam_u2f")

  /// A line of the module's that asks nobody.
  public var servesKeyring: Bool { moduleName == Self.ownModule && moduleArguments.servesKeyring }

  /// A line of the module's that asks the phone, or opens a session.
  package var isOwn: Bool { moduleName == Self.ownModule && !servesKeyring }

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
