import ArgumentParser
import CommandSupport
import IAMPASSServer

struct DatabaseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "database", abstract: "Look after the service's database.",
    subcommands: [
      CheckCommand.self, MigrateCommand.self, MoveCommand.self, SealCommand.self, UnsealCommand.self,
      PassCopyCommand.self,
    ])

  struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Say whether the database can be relied on.",
      discussion: """
        Reads all of a data directory's database, or looks at the settings of a PostgreSQL server that could lose what \
        was said. Sealed secrets are opened. The service may be running.
        """)

    @OptionGroup var place: DatabaseOptions
    @OptionGroup var seal: SealOptions

    func run() async throws {
      try await explaining {
        let storage = try place.existing(seal)
        let problems = try await storage.problems()
        guard problems.isEmpty else { throw CommandProblem.unreliable(problems) }
        try await storage.checkSeals()
      }
      try Output.say("no problem found")
    }
  }
}
