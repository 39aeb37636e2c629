import ArgumentParser
import CommandSupport
import IAMPASSServer

struct DatabaseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "database", abstract: "Look after the service's database.",
    subcommands: [CheckCommand.self, MigrateCommand.self, MoveCommand.self])

  struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Say whether the database can be relied on.",
      discussion: """
        Reads all of a data directory's database, or looks at the settings of a PostgreSQL server that could lose what \
        was said. The service may be running.
        """)

    @OptionGroup var place: DatabaseOptions

    func run() async throws {
      try await explaining {
        let problems = try await place.existing().problems()
        guard problems.isEmpty else { throw CommandProblem.unreliable(problems) }
      }
      try Output.say("no problem found")
    }
  }
}
