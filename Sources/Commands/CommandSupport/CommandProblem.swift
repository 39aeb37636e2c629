import HostSystem

/// Why a command stops, for the person at the terminal: what failed, and what to do next. Every program of ours prints
/// its problems by ``report(by:)``, and each problem once.
///
/// A message says what failed and where, in lower case and without a full stop: `/etc/iampass/users is readable by
/// group`. A hint is a command that helps, or says what to do: `chmod 600 /etc/iampass/users`. It never gives more
/// access than needed. Texts of others are shown through `DisplayText.sanitized`, cut to a length. A secret is never
/// shown.
///
/// This target is separate from ``HostSystem``, because only commands print. sudo does not load it.
public struct CommandProblem: Error, Sendable {
  public let message: String
  /// What to do next; nil if there is no known help.
  public let hint: String?
  /// A code of sysexits.h, or 128 and the number of a signal.
  public let exitCode: Int32
  /// What another part reported, for a caller that may go on after it. It is not shown.
  public let cause: (any Error)?

  public init(message: String, hint: String?, exitCode: Int32, cause: (any Error)? = nil) {
    self.message = message
    self.hint = hint
    self.exitCode = exitCode
    self.cause = cause
  }

  /// Prints message and hint on standard error.
  ///
  /// - Parameter program: the command's name, which begins the line.
  public func report(by program: String) {
    // If the terminal is gone, the write fails.
    _ = WholeText.write("\(program): \(message)\n" + (hint.map { "hint: \($0)\n" } ?? ""), to: 2)
  }
}

extension CommandProblem: Equatable {
  /// Problems are the same if people and scripts are told the same.
  public static func == (one: CommandProblem, other: CommandProblem) -> Bool {
    (one.message, one.hint, one.exitCode) == (other.message, other.hint, other.exitCode)
  }
}
