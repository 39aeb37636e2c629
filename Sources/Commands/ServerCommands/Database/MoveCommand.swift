import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

extension DatabaseCommand {
  struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "move", abstract: "Move everything to a database of the other kind, while the service runs.",
      discussion: """
        One of both places is a data directory, and the other one a PostgreSQL database: postgresql://…, without a \
        password. The destination must be empty, or not be there yet. At the end nobody can write for some seconds; then \
        the old place refuses every change, and the service is to be started on the new one. If this is broken off, run \
        it again.
        """)

    @Option(help: ArgumentHelp("Where everything is.", valueName: "place"), completion: .directory)
    var from: String

    @Option(help: ArgumentHelp("Where it is to be.", valueName: "place"), completion: .directory)
    var to: String

    func run() async throws {
      for place in [from, to] where place.hasPrefix("/") || !place.contains("://") {
        try ActingUser.become(ownerOf: place)
      }
      let report = try await explaining { try await DatabaseMove.run(from: from, to: to) }
      try Output.say(report.isCompleted ? "an earlier move is completed" : Self.text(of: report))
      try Output.say("next: start the service on \(DisplayText.sanitized(report.place))")
    }

    private static func text(of report: MoveReport) -> String {
      let counts = report.counts.filter { $0.count > 0 }
      let rows = counts.map { "  \($0.table): \($0.count)" }.joined(separator: "\n")
      let total = counts.reduce(0) { $0 + $1.count }
      let pause = Double(report.pause.components.seconds) + Double(report.pause.components.attoseconds) / 1e18
      let shown = (pause * 10).rounded() / 10
      return """
        moved \(total) rows, each of which was read back:
        \(rows)
        nobody could write for \(shown) s
        """
    }
  }
}
