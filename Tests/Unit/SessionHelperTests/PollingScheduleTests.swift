import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// When the helper asks the service about many sessions.
@Suite struct PollingScheduleTests {
  /// A thousand wake-ups for a thousand sessions would cost more than the requests themselves.
  @Test func questionsAreAskedTogetherAndSpreadOverTheInterval() throws {
    let office = try HelperFixture(dice: { Int64.random(in: -200...200) })
    for _ in 0..<40 { try office.signIn() }
    office.pass(milliseconds: 60_000)
    let polls = office.service.askedAt.dropFirst(80)
    #expect(polls.count > 300)
    #expect(polls.allSatisfy { $0 % PollingSchedule.tick == 0 })
    #expect(Set(polls).count > 40)
  }

  @Test func questionsThatNeedAConnectionEachAreNotAskedTogether() throws {
    let office = try HelperFixture(dice: { Int64.random(in: -200...200) })
    office.service.takesManyAtOnce = false
    for _ in 0..<40 { try office.signIn() }
    office.pass(milliseconds: 60_000)
    #expect(office.service.askedAt.count { $0 % PollingSchedule.tick != 0 } > 300)
  }

  /// Right after a sign-in the service holds for a second only, and the phone may leave as soon.
  @Test func aQuestionWaitsAtAServiceThatHoldsWheneverItMayAnswer() throws {
    let office = try HelperFixture()
    office.says("active", of: try office.signIn(), held: true)
    office.service.latency = 1_030
    office.pass(milliseconds: 10_300)
    let asked = office.service.askedAt
    #expect(asked.count == 11)
    #expect(zip(asked, asked.dropFirst()).allSatisfy { $1 - $0 == office.service.latency })
  }

  @Test func aServiceThatOnlySaysThatItHoldsIsNotAskedWithoutPause() throws {
    let office = try HelperFixture()
    office.says("active", of: try office.signIn(), held: true)
    office.pass(milliseconds: 60_000)
    #expect((25...35).contains(office.service.asked))
  }

  /// The phone comes back, and leaves again.
  @Test func afterAChangeTheNextQuestionWaitsAtOnce() throws {
    let office = try HelperFixture { $0.onWalkaway = .ignore }
    let id = try office.signIn()
    office.says("active", of: id, held: true)
    office.service.latency = 130
    office.pass()
    for word in ["walkaway", "active", "walkaway"] {
      // What the next question is answered.
      office.says(word, of: id, held: true)
      office.pass(milliseconds: 130)
    }
    let asked = office.service.askedAt
    #expect(asked.count == 4)
    #expect(zip(asked, asked.dropFirst()).allSatisfy { $1 - $0 == 130 })
  }

  @Test(arguments: [(0, 0), (1, 250), (249, 250), (250, 250), (251, 500)] as [(Int64, Int64)])
  func aTickIsTheNextFullQuarterOfASecond(_ time: Int64, _ tick: Int64) {
    #expect(PollingSchedule.onTick(time) == tick)
  }
}
