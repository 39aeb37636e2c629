/// Commands in hints, which root pastes as they are.
///
/// A hint must not do more than it mends: `chmod 600 /etc/hosts` would take name look-up away from everybody. So modes,
/// owners and files are changed by these alone, and only in places of this product's own.
public enum MendingCommand {
  /// Nil for a file of somebody else's; the hint then says in words what to do.
  ///
  /// - Parameter command: what stands before the path, such as `chmod go-w`.
  public static func text(_ command: String, _ path: String) -> String? {
    isOwn(path) ? "\(command) \(quoted(path))" : nil
  }

  /// Whether a file or folder is this product's by its place: a name in the path is `iampass`, or `iampass-`
  /// and more. The configuration may name files anywhere, and so may an option.
  public static func isOwn(_ path: String) -> Bool {
    // A relative path is in whatever folder the command is pasted in.
    guard path.utf8.first == UInt8(ascii: "/") else { return false }
    let names = path.split(separator: "/").map(String.init)
    guard !names.contains(".."), !names.contains(".") else { return false }
    return names.contains { $0 == "iampass" || $0.hasPrefix("iampass-") }
  }

  /// As one word for a shell, which takes `#` and `~` for its own.
  public static func quoted(_ path: String) -> String {
    let plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-".utf8
    if path.utf8.allSatisfy(plain.contains) { return path }
    return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}
