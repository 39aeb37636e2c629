import ArgumentParser
import CommandSupport
import IAMPASSServer

struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Print who asked, from where, what was answered, and when; the oldest first.",
    discussion: """
      Also which phones, users, applications and host credentials came and went. Times are UTC; entries are kept for \
      400 days, or as serve's --keep-audit says. The service may be running.
      """)

  @OptionGroup var place: DatabaseOptions

  @Option(
    help: ArgumentHelp(
      "Only what happened at this time (UTC) or later: 2027-01-15T08:00:00Z, or the day alone.", valueName: "time"),
    transform: AuditCommand.time)
  var since: UnixTime?

  @Option(help: ArgumentHelp("Only entries after the one with this id, as --json-lines prints it.", valueName: "id"))
  var after: Int64 = 0

  @Flag(help: "Go on with each entry as it comes, until Ctrl-C.")
  var follow = false

  @Flag(help: "Print a line of JSON for each.")
  var jsonLines = false

  @Flag(
    help: """
      Print the phones' answers instead, as they were signed, with what each phone was shown: a line of JSON for each.
      """)
  var answers = false

  @Option(
    help: ArgumentHelp(
      """
      Print the entry with this id, and the phone's signed answer that it goes back to; check its signatures.
      """, valueName: "id"))
  var proof: Int64?

  /// The entries that are read at a time.
  private static let portion = 1_000

  func validate() throws {
    guard proof == nil || !(answers || jsonLines || follow || since != nil || after != 0) else {
      throw ValidationError("--proof takes no other options: it prints one line of JSON")
    }
    guard !answers || !(jsonLines || follow || since != nil || after != 0) else {
      throw ValidationError("--answers are lines of JSON already, and all of them")
    }
    guard after >= 0 else { throw ValidationError("--after takes an id, which is 1 or more") }
  }

  func run() async throws {
    try await explaining {
      let storage = try place.existing()
      if let proof { return try await printProof(of: proof, in: storage) }
      if answers { return try await printAnswers(of: storage) }
      let history = follow ? try await storage.auditHistory() : ""
      var tail = AuditTail(last: try await beginning(in: storage), history: history)
      var read = follow ? try await entries(until: tail.last, in: storage) : ReadEntries()
      try await printEntries(of: storage, after: &tail.last, &read)
      guard follow else { return }
      try await tail.follow(
        in: { try await storage.auditHistory() }, by: { try await printEntries(of: storage, after: &$0, &read) })
    }
  }

  /// The id of the entry after which to print.
  private func beginning(in storage: any OperatorStore) async throws -> Int64 {
    if after > 0, try await storage.auditEntries(after: after - 1, limit: 1).isEmpty {
      throw CommandProblem.noAuditEntry(after)
    }
    guard let since else { return after }
    return max(after, try await storage.auditPlace(before: since))
  }

  /// The newest entries until this id.
  private func entries(until last: Int64, in storage: any OperatorStore) async throws -> ReadEntries {
    let count = ReadEntries.greatestCount
    let entries = try await storage.auditEntries(after: max(0, last - Int64(count)), limit: count)
    var read = ReadEntries()
    read.note(entries.filter { $0.id <= last }.map { ReadEntries.Key($0) })
    return read
  }

  private func printEntries(
    of storage: any OperatorStore, after last: inout Int64, _ read: inout ReadEntries
  ) async throws {
    while true {
      let entries = try await next(in: storage, after: &last, &read)
      guard let newest = entries.last else { return }
      let wanted = entries.filter { since == nil || $0.at >= since! }
      try Output.say(wanted.map { jsonLines ? $0.jsonLine : $0.textLine })
      if follow { read.note(entries.map { ReadEntries.Key($0) }) }
      last = newest.id
    }
  }

  /// The entries after the last one. If that is not stored any more, those after the newest one that was read and is.
  private func next(
    in storage: any OperatorStore, after last: inout Int64, _ read: inout ReadEntries
  ) async throws -> [AuditEntry] {
    if let newest = read.newest {
      // One read has the last one too: what follows it belongs to the same history.
      let entries = try await storage.auditEntries(after: newest.id - 1, limit: Self.portion)
      if let first = entries.first, ReadEntries.Key(first) == newest { return Array(entries.dropFirst()) }
      let common = try await read.goBack { after, limit in
        try await storage.auditEntries(after: after, limit: limit).map { ReadEntries.Key($0) }
      }
      if let common {
        Notice.tell(
          "the database went back, as when a standby takes over: it lacks entries after \(common) that were printed")
        last = common
      }
    }
    return try await storage.auditEntries(after: last, limit: Self.portion)
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

  private func printProof(of id: Int64, in storage: any OperatorStore) async throws {
    guard let proof = try await storage.auditProof(ofEntry: id) else { throw CommandProblem.noAuditEntry(id) }
    try Output.say(proof.jsonLine)
    guard let answer = proof.answer else { throw CommandProblem.noAnswer(toAuditEntry: id) }
    if let flaw = answer.flaw { throw CommandProblem.answerProvesNothing(flaw) }
  }

  private static func time(_ text: String) throws -> UnixTime {
    guard let time = UnixTime(text: text) else {
      throw ValidationError("a time is such as 2027-01-15T08:00:00Z or 2027-01-15, in UTC")
    }
    return time
  }
}
