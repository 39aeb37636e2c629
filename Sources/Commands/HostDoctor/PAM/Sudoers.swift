import CommandSupport
import Glibc

/// Reads the policy of sudo(8) with the program that comes with it. sudo-rs has neither that program nor these
/// settings.
package enum Sudoers {
  package static let path = "/etc/sudoers"
  private static let converter = "/usr/bin/cvtsudoers"
  /// The most bytes of the program's output.
  private static let greatestOutput = 4 * 1024 * 1024

  package enum Answer {
    case notInstalled
    case settings(SudoersSettings)
    /// The program failed. Has its error text.
    case failed(String)
  }

  package static func settings() -> Answer {
    guard Program.exists(converter), access(path, F_OK) == 0 else { return .notInstalled }
    // The program's own configuration could leave entries out.
    let words = [converter, "-c", "/dev/null", "-f", "json", "-s", "aliases,privileges", path]
    guard let answer = Program.run(words, greatestOutput: greatestOutput) else { return .failed("") }
    // A policy with errors is converted up to the first of them.
    guard answer.status == 0, let settings = SudoersSettings(answer.output) else { return .failed(answer.output) }
    return .settings(settings)
  }

  /// The finding if the policy cannot be read.
  ///
  /// - Parameter output: the program's output.
  static func unreadable(_ output: String) -> Finding {
    let reason = output.split(whereSeparator: \.isNewline).first.map { ": \($0)" } ?? ""
    return Finding(
      .warning, .pam, "\(path) was not understood, so whether sudo asks other services is unknown\(reason)",
      hint: "visudo -c")
  }
}
