import CommandSupport
import Glibc
import HostSystem

/// Prints without a buffer: buffered text could be lost after a command has succeeded.
enum Output {
  static func say(_ line: String) throws(CommandProblem) { try say([line]) }

  /// Prints lines. A closed pipe is not an error. Any other failure is a failure of the command.
  static func say(_ lines: [String]) throws(CommandProblem) {
    guard let failure = write(lines), failure != EPIPE else { return }
    throw .notPrinted(failure)
  }

  /// - Returns: errno if not everything was printed; otherwise nil.
  static func write(_ lines: [String]) -> Int32? {
    WholeText.write(lines.map { $0 + "\n" }.joined(), to: STDOUT_FILENO)
  }
}
