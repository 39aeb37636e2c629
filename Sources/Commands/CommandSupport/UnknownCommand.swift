import ArgumentParser
import Glibc
import IAMPASSProtocol

extension CommandProblem {
  /// The most characters of a mistyped word that are shown.
  private static let greatestWord = 64

  /// The message if the words do not name a command, with the probable command; nil if they name one. The library
  /// itself only says "unexpected argument".
  ///
  /// - Parameter words: the program's arguments without its name.
  public static func unknownCommand(in words: [String], of root: any ParsableCommand.Type) -> CommandProblem? {
    var (command, path) = (root, [name(of: root)])
    for word in words {
      let below = command.configuration.subcommands
      // The library has a command "help". A word with a hyphen at its beginning is an option.
      guard !below.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
      guard let next = below.first(where: { name(of: $0) == word }) else {
        let names = below.filter { $0.configuration.shouldDisplay }.map(name(of:))
        let group = path.joined(separator: " ")
        let meant = Spelling.nearest(to: word, in: names)
        let typed = path.dropFirst() + [DisplayText.sanitized(word, limit: greatestWord)]
        return CommandProblem(
          message: "there is no command \(typed.joined(separator: " "))",
          hint: meant.map { "did you mean \(group) \($0)?" } ?? "\(group) --help", exitCode: EX_USAGE)
      }
      command = next
      path.append(word)
    }
    return nil
  }

  private static func name(of command: any ParsableCommand.Type) -> String { command._commandName }
}
