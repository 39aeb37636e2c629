import CommandSupport
import Testing

@testable import ServerCommands

/// What was read of an audit, beside what the database has later.
@Suite struct ReadEntriesTests {
  private static func keys(_ ids: ClosedRange<Int64>, at time: Int64) -> [ReadEntries.Key] {
    ids.map { ReadEntries.Key(id: $0, at: time, event: "asked") }
  }

  /// Entries 11 to 20.
  private func elevenToTwenty() -> ReadEntries {
    var read = ReadEntries()
    read.note(Self.keys(11...20, at: 1))
    return read
  }

  private func goBack(_ read: inout ReadEntries, to stored: [ReadEntries.Key]) async throws -> Int64? {
    try await read.goBack { after, limit in Array(stored.filter { $0.id > after }.prefix(limit)) }
  }

  @Test func othersWithTheirIDsComeAfterTheNewestThatIsLeft() async throws {
    var read = elevenToTwenty()
    // A standby took over without 18 to 20, and has had enough news to have these ids again.
    let stored = Self.keys(1...17, at: 1) + Self.keys(18...30, at: 2)
    #expect(try await goBack(&read, to: stored) == 17)
    #expect(read.newest == Self.keys(17...17, at: 1).first)
  }

  @Test func theirIDsMayBeLeftOut() async throws {
    var read = elevenToTwenty()
    #expect(try await goBack(&read, to: Self.keys(1...18, at: 1) + Self.keys(40...41, at: 2)) == 18)
  }

  @Test func whatIsDeletedForItsAgeIsNotGoneBackTo() async throws {
    var read = elevenToTwenty()
    #expect(try await goBack(&read, to: []) == nil)
    #expect(try await goBack(&read, to: Self.keys(21...22, at: 2)) == nil)
  }

  @Test func furtherBackThanIsRememberedEndsIt() async throws {
    for stored in [Self.keys(1...5, at: 1), Self.keys(1...5, at: 1) + Self.keys(6...30, at: 2)] {
      await #expect(throws: CommandProblem.self) {
        var read = elevenToTwenty()
        _ = try await goBack(&read, to: stored)
      }
    }
  }

  @Test func theNewestAreRemembered() async throws {
    var read = ReadEntries()
    for start in stride(from: Int64(1), to: 5_000, by: 500) { read.note(Self.keys(start...start + 499, at: 1)) }
    #expect(read.newest?.id == 5_000)
    #expect(try await goBack(&read, to: Self.keys(1...4_900, at: 1)) == 4_900)
  }
}
