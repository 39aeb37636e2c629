import ArgumentParser
import IAMPASSServer

extension DatabaseCommand {
  struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "migrate", abstract: "Bring the database up to date, as the service does when it starts.",
      discussion: """
        Prints the changes that were missing. An empty PostgreSQL database gets the tables of a new service. Servers \
        that are running go on; one that is too old for a change stops.
        """)

    @OptionGroup var place: DatabaseOptions

    func run() async throws {
      let changes = try await explaining { try place.migrated() }
      guard !changes.isEmpty else { return try Output.say("the database is up to date") }
      let count = changes.count == 1 ? "1 change" : "\(changes.count) changes"
      try Output.say("brought up to date by \(count):\n" + changes.map { "  " + $0 }.joined(separator: "\n"))
    }
  }
}
