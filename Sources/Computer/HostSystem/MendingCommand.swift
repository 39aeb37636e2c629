/// Commands in hints, which root pastes unchanged.
///
/// A hint must not do harm: `chmod 600 /etc/hosts` would break name look-up for all users. So only these commands
/// change modes, owners and files, and only in this product's own places.
public enum MendingCommand {
  /// Nil if the file is not this product's own. The hint then says in words what to do.
  ///
  /// - Parameter command: the part before the path, such as `chmod go-w`.
  public static func text(_ command: String, _ path: String) -> String? {
    isOwn(path) ? "\(command) \(quoted(path))" : nil
  }

  /// Whether a file or folder is this product's own by its path: one name in the path is `iampass` or begins with
  /// `iampass-`. The configuration and options may name files anywhere.
  public static func isOwn(_ path: String) -> Bool {
    // A relative path depends on the folder in which the command is pasted.
    guard path.utf8.first == UInt8(ascii: "/") else { return false }
    let names = path.split(separator: "/").map(String.init)
    guard !names.contains(".."), !names.contains(".") else { return false }
    return names.contains { $0 == "iampass" || $0.hasPrefix("iampass-") }
  }

  /// The path as one word for a shell, in which `#` and `~` are special.
  public static func quoted(_ path: String) -> String {
    let plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-".utf8
    if path.utf8.allSatisfy(plain.contains) { return path }
    return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}
