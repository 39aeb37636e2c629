import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// When the helper asks the service about many sessions.
@Suite struct AskingPaceTests {
  /// A thousand wake-ups for a thousand sessions would cost more than the requests themselves.
  @Test func questionsAreAskedTogetherAndSpreadOverTheInterval() throws {
    let office = try Office()
    office.supervisor.inquiries.pace.dice = { Int64.random(in: -200...200) }
    for _ in 0..<40 { try office.signIn() }
    office.pass(milliseconds: 60_000)
    let polls = office.service.askedAt.dropFirst(80)
    #expect(polls.count > 300)
    #expect(polls.allSatisfy { $0 % AskingPace.tick == 0 })
    #expect(Set(polls).count > 40)
  }

  @Test func questionsThatNeedAConnectionEachAreNotAskedTogether() throws {
    let office = try Office()
    office.service.takesManyAtOnce = false
    office.supervisor.inquiries.pace.dice = { Int64.random(in: -200...200) }
    for _ in 0..<40 { try office.signIn() }
    office.pass(milliseconds: 60_000)
    #expect(office.service.askedAt.count { $0 % AskingPace.tick != 0 } > 300)
  }

  @Test(arguments: [(0, 0), (1, 250), (249, 250), (250, 250), (251, 500)] as [(Int64, Int64)])
  func aTickIsTheNextFullQuarterOfASecond(_ time: Int64, _ tick: Int64) {
    #expect(AskingPace.onTick(time) == tick)
  }
}
