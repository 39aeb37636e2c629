import HostState
import IAMPASSProtocol

/// The module's own line for an approved sign-in, as `journalctl --output=json` prints it.
public enum JournalApproval {
  /// What is asked of journalctl.
  public static let fields = "MESSAGE,_CAP_EFFECTIVE"

  /// Whether one of the lines says that `user` (nil: anybody) was approved through one of `services`.
  ///
  /// Anybody may log such a line (logger(1)); journald itself notes the sender's capabilities, and only a privileged
  /// program's line counts.
  public static func stands(in output: String, user: UnixUsername?, services: [String]) -> Bool {
    output.split(separator: "\n").contains { line in
      guard let entry = try? JSON(parsing: Array(line.utf8)), let message = entry["MESSAGE"]?.string,
        let capabilities = entry["_CAP_EFFECTIVE"]?.string.flatMap({ UInt64($0, radix: 16) }), capabilities != 0
      else { return false }
      return isApproval(message, user, services)
    }
  }

  /// `pam_iampass(sudo:auth): approved user=alice service=sudo rhost=- record=…`; spaces in fields are written `?`.
  private static func isApproval(_ message: String, _ user: UnixUsername?, _ services: [String]) -> Bool {
    let words = message.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
    guard words.count >= 4, words[0].hasPrefix("pam_iampass("), words[0].hasSuffix(":auth):"), words[1] == "approved",
      words[2].hasPrefix("user="), words[3].hasPrefix("service=")
    else { return false }
    let approved = UnixUsername(validating: String(words[2].dropFirst("user=".count)))
    return (user == nil || user == approved)
      && services.contains(String(words[3].dropFirst("service=".count)))
  }
}
