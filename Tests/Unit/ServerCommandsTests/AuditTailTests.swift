import CommandSupport
import Testing

@testable import ServerCommands

/// `audit --follow` while something happens to the database.
@Suite struct AuditTailTests {
  @Test func anotherHistoryEndsItBeforeAnythingIsPrinted() async throws {
    var tail = AuditTail(last: 7, history: "1 2 3")
    do {
      try await tail.follow(in: { "1 9 3" }, by: { _ in Issue.record("this prints by ids of another history") })
      Issue.record("this goes on")
    } catch let problem as CommandProblem {
      #expect(problem.message == CommandProblem.otherAuditHistory.message)
    }
    #expect(tail.last == 7)
  }
}
