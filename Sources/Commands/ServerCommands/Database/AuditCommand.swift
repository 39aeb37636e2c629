import ArgumentParser
import IAMPASSServer

struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Print who asked, from where, what was answered, and when; the oldest first.",
    discussion: """
      Also which phones, users, applications and host credentials came and went. Times are UTC; entries are kept for \
      400 days. The service may be running.
      """)

  @OptionGroup var place: DatabaseOptions

  @Flag(help: "Print a line of JSON for each.")
  var jsonLines = false

  @Flag(
    help: """
      Print the phones' answers instead, as they were signed, with what each phone was shown: a line of JSON for each.
      """)
  var answers = false

  /// Entries that are read at a time.
  private static let portion = 1_000

  func validate() throws {
    guard !(answers && jsonLines) else { throw ValidationError("--answers are lines of JSON already") }
  }

  func run() async throws {
    try await explaining {
      let storage = try place.existing()
      if answers { return try await printAnswers(of: storage) }
      var last: Int64 = 0
      while true {
        let entries = try await storage.auditEntries(after: last, limit: Self.portion)
        guard let newest = entries.last else { return }
        try Output.say(entries.map { jsonLines ? $0.jsonLine : $0.textLine })
        last = newest.id
      }
    }
  }

  private func printAnswers(of storage: any OperatorStore) async throws {
    var last: Int64 = 0
    while true {
      let kept = try await storage.keptAnswers(after: last, limit: Self.portion)
      guard let newest = kept.last else { return }
      try Output.say(kept.map(\.jsonLine))
      last = newest.id
    }
  }
}
