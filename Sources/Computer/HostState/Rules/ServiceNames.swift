/// The list of PAM services in `services` of `iampass.conf`.
enum ServiceNames {
  /// Names of files in `/etc/pam.d`, and ``DesktopServices/group``; nil if the text has another word. Linux-PAM allows
  /// more characters, but services do not use them.
  static func read(_ text: String) -> [String]? {
    let names = text.utf8.split { KeyValueFile.isBlank($0) || $0 == UInt8(ascii: ",") }
    let isName = { (name: Substring.UTF8View) in
      name.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
    }
    guard names.allSatisfy(isName) else { return nil }
    let texts = names.map { String(Substring($0)) }
    // An unknown group must be an error: otherwise its services would go without the phone, unnoticed.
    guard texts.allSatisfy({ !$0.hasPrefix("@") || $0 == DesktopServices.group }) else { return nil }
    return DesktopServices.expanded(texts)
  }
}
