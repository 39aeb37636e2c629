import CommandSupport
import Glibc

/// Asks an administrator at a terminal.
struct SetupQuestions {
  /// - Returns: nil unless there is a terminal to answer at.
  init?(isAsked: Bool) {
    guard isAsked, Terminal.isInteractive else { return nil }
  }

  /// Reads one line without blanks around it. The answer may be empty.
  func line(_ question: String) throws(CommandProblem) -> String {
    Terminal.put(question)
    guard let line = readLine() else { throw .setupInterrupted(130, hasBegun: false) }
    let isBlank = { (character: Character) in character.isWhitespace }
    return String(line.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }

  /// Asks until `take` accepts the answer.
  func answer<Value>(
    _ question: String, _ take: (String) throws(CommandProblem) -> Value
  ) throws(CommandProblem) -> Value {
    while true {
      let text = try line(question)
      do { return try take(text) } catch { error.report(by: "iampass-server") }
    }
  }

  /// Asks a yes-or-no question. Enter alone means no.
  func agrees(_ question: String) throws(CommandProblem) -> Bool {
    ["y", "yes"].contains(try line(question + " [y/N] ").lowercased())
  }
}
