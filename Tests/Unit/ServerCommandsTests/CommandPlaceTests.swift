import ArgumentParser
import Testing

@testable import ServerCommands

/// Which commands work on a PostgreSQL database as on a data directory.
struct CommandPlaceTests {
  /// Those that need no database, or work on the files of this computer.
  private static let withoutDatabase: Set = [
    "backup", "setup", "certificate renew", "certificate next-authority", "page-digest",
    // Its two places are of different kinds.
    "database move",
  ]

  /// The commands without commands below them, that are not for this program alone.
  private func commands(
    below command: any ParsableCommand.Type, named path: [String] = []
  ) -> [(name: String, type: any ParsableCommand.Type)] {
    let below = command.configuration.subcommands
    guard !below.isEmpty else { return [(path.joined(separator: " "), command)] }
    return below.filter { $0.configuration.shouldDisplay }.flatMap { one in
      commands(below: one, named: path + [one._commandName])
    }
  }

  @Test func everyOtherCommandTakesADatabaseOfEitherKind() {
    let all = commands(below: ServerCommand.self)
    #expect(Self.withoutDatabase.isSubset(of: all.map(\.name)))
    for (name, type) in all {
      let help = ServerCommand.helpMessage(for: type)
      #expect(help.contains("--database <url>") != Self.withoutDatabase.contains(name), "\(name)")
    }
  }
}
