import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// Which users are logged out when many sessions end at once.
@Suite struct MassEndTests {
  private func signIn(
    _ count: Int, from first: Int = 1, _ office: HelperFixture, lasting duration: Int64 = 43_200
  ) throws -> [String] {
    try (first..<first + count).map {
      try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) { $0 = $0.lasting(duration) }
    }
  }

  /// Six users are signed in. The service has just ended all their sessions.
  private func officeWhereAllEnd(
    lasting duration: Int64 = 43_200, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> (HelperFixture, ids: [String]) {
    let office = try HelperFixture(change)
    let ids = try signIn(6, office, lasting: duration)
    office.pass(milliseconds: 10_000)
    for id in ids { office.says("closed", of: id) }
    return (office, ids)
  }

  private func alerts(_ office: HelperFixture) -> Int { office.log.lines.count { $0.priority == LOG_CRIT } }

  /// A dismissed user must not stay because they signed in six times.
  @Test func allSessionsOfOneUserEnd() throws {
    let office = try HelperFixture()
    let others = try signIn(4, office)
    let ids = try (11...16).map { try office.signIn("mallory", uid: 2_000, session: String($0)) }
    office.pass(milliseconds: 10_000)
    for id in ids { office.says("closed", of: id) }
    office.pass(milliseconds: 30_000)
    #expect(Set(office.logind.terminated) == ["11", "12", "13", "14", "15", "16"])
    #expect(Set(office.records) == Set(others))
    #expect(alerts(office) == 0)
  }

  @Test(arguments: ["USER_DELETED", "ENDED_ON_PHONE", "LOGGED_OUT"])
  func whatSomebodyWantedIsDoneHoweverManyThereAre(reason: String) throws {
    let office = try HelperFixture()
    let ids = try signIn(12, office)
    office.pass(milliseconds: 10_000)
    for id in ids { office.says("closed", of: id, reason: reason) }
    office.pass(milliseconds: 30_000)
    #expect(office.logind.terminated.count == 12)
  }

  @Test(arguments: [nil, "EXPIRED", "NOT_COLLECTED", "APPLICATION_DISABLED", "user_deleted", ""])
  func anyOtherReasonEndsNoCrowd(reason: String?) throws {
    let office = try HelperFixture()
    let ids = try signIn(12, office)
    office.pass(milliseconds: 10_000)
    for id in ids { office.says("closed", of: id, reason: reason) }
    office.pass(milliseconds: 30_000)
    #expect(office.logind.terminated == [])
    #expect(alerts(office) == 1)
  }

  @Test func whatIsLeftAsideIsEndedOnceSomebodyIsKnownToHaveWantedIt() throws {
    let (office, ids) = try officeWhereAllEnd()
    office.pass(milliseconds: 30_000)
    office.says("closed", of: ids[2], reason: "USER_DELETED")
    office.pass(milliseconds: 90_000)
    #expect(office.logind.terminated == ["3"])
  }

  /// Those who were logged out are gone from the records, so that fewer than five users are left to be watched.
  @Test func endsThatComeOneAfterTheOtherAreACrowdToo() throws {
    let office = try HelperFixture()
    let ids = try signIn(8, office)
    office.pass(milliseconds: 10_000)
    for id in ids {
      office.says("closed", of: id)
      office.pass(milliseconds: 6_000)
    }
    office.pass(milliseconds: 20_000)
    #expect(office.logind.terminated == ["1", "2", "3", "4"])
    #expect(office.records.count == 4)
    #expect(alerts(office) > 0)
  }

  /// The fifth user signs in only after the first end, which needed no verdict.
  @Test func anEndWithoutAVerdictCountsWithThoseThatFollow() throws {
    let office = try HelperFixture()
    let first = try signIn(4, office)
    office.pass(milliseconds: 10_000)
    office.says("closed", of: first[0])
    office.pass(milliseconds: 6_000)
    let fifth = try signIn(1, from: 20, office)
    office.pass(milliseconds: 6_000)
    for id in Array(first.dropFirst()) + fifth { office.says("closed", of: id) }
    office.pass(milliseconds: 20_000)
    #expect(office.logind.terminated == ["1"])
  }

  /// After a start all sessions are asked about at once, and a busy service answers some of these questions later.
  @Test func answersThatAreStillToComeAreAwaited() throws {
    let office = try HelperFixture()
    let ids = try signIn(12, office)
    office.pass(milliseconds: 10_000)
    office.restart()
    for id in ids { office.says("closed", of: id) }
    for id in ids.dropFirst(3) { office.service.latencies["https://localhost/status/\(id)"] = 1_000 }
    office.pass(milliseconds: 30_000)
    #expect(office.logind.terminated == [])
  }

  /// The computer falls asleep as ends wait for answers about the other users' sessions.
  private func officeAsleep(
    ending count: Int, of all: Int, _ change: (HelperFixture, _ others: [String]) -> Void
  ) throws -> (HelperFixture, others: [String]) {
    let office = try HelperFixture()
    let ending = try signIn(count, office)
    office.pass(milliseconds: 2_000)
    let others = try signIn(all - count, from: count + 1, office)
    // The service is asked about the two groups by turns.
    office.pass(milliseconds: 7_900)
    for id in ending { office.says("closed", of: id) }
    for id in others { office.service.latencies["https://localhost/status/\(id)"] = 60_000 }
    office.pass(milliseconds: 150)
    try #require(office.service.nextAnswer != nil && office.logind.terminated == [])
    change(office, others)
    office.sleep(seconds: 3_600)
    return (office, others)
  }

  @Test func aVerdictWaitsForAnswersAgainAfterASleep() throws {
    let (office, _) = try officeAsleep(ending: 3, of: 12) { office, others in
      for id in others {
        office.says("closed", of: id)
        office.service.latencies["https://localhost/status/\(id)"] = 2_000
      }
    }
    office.pass(milliseconds: 30_000)
    #expect(office.logind.terminated == [])
    #expect(alerts(office) == 1)
  }

  /// The network is not there yet.
  @Test func aVerdictOutlastsQuestionsThatFailAfterASleep() throws {
    let (office, others) = try officeAsleep(ending: 3, of: 12) { office, others in
      office.service.latencies = [:]
      for id in others { office.says(.failed(.serverFailed(status: 503)), of: id) }
    }
    office.pass(milliseconds: 1_000)
    for id in others { office.says("closed", of: id) }
    office.pass(milliseconds: 30_000)
    #expect(office.logind.terminated == [])
  }

  @Test func aSleepDoesNotLeaveEndsAloneThatTheServiceMeant() throws {
    let (office, _) = try officeAsleep(ending: 6, of: 14) { office, others in
      for id in others { office.service.latencies["https://localhost/status/\(id)"] = 2_000 }
    }
    office.pass(milliseconds: 30_000)
    #expect(Set(office.logind.terminated) == ["1", "2", "3", "4", "5", "6"])
    #expect(alerts(office) == 0)
  }

  @Test func sessionsThatAreLeftAloneAreAskedAboutAndReportedUntilTheyAreResolved() throws {
    let (office, ids) = try officeWhereAllEnd()
    office.pass(milliseconds: 60_000)
    let (asked, alerted) = (office.service.asked, alerts(office))
    office.pass(milliseconds: 3_600_000)
    #expect((300...400).contains(office.service.asked - asked))
    #expect((5...7).contains(alerts(office) - alerted))
    for id in ids { office.says("active", of: id) }
    office.pass(milliseconds: 90_000)
    let after = alerts(office)
    office.pass(milliseconds: 3_600_000)
    #expect(alerts(office) == after)
    #expect(office.logind.terminated == [])
  }

  /// Handling an expiry does not settle an end that is still open.
  @Test func aSessionThatIsLeftAloneIsReportedPastItsExpiry() throws {
    let (office, _) = try officeWhereAllEnd(lasting: 1_200) { $0.onExpiry = .ignore }
    office.pass(milliseconds: 1_800_000)
    let (asked, alerted) = (office.service.asked, alerts(office))
    office.pass(milliseconds: 3_600_000)
    #expect(office.service.asked - asked >= 300)
    #expect(alerts(office) - alerted >= 5)
  }

  @Test func isShoutedAboutAfterARestartToo() throws {
    let (office, _) = try officeWhereAllEnd()
    office.pass(milliseconds: 30_000)
    office.restart()
    let alerted = alerts(office)
    office.pass(milliseconds: 300_000)
    #expect(alerts(office) > alerted)
    #expect(office.logind.terminated == [])
  }

  @Test func whatIsLeftAsideEndsWhenTheServiceIsSeenToRememberAsManyOthers() throws {
    let office = try HelperFixture()
    let ids = try signIn(9, office)
    office.pass(milliseconds: 10_000)
    for id in ids.prefix(5) { office.says("closed", of: id) }
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
    office.says("active", of: ids[0])
    office.pass(milliseconds: 180_000)
    #expect(Set(office.logind.terminated) == ["2", "3", "4", "5"])
  }

  /// The service would remember them even if it had forgotten all others.
  @Test func thoseWhoGoHomeOrSignInLaterShowNothing() throws {
    let (office, _) = try officeWhereAllEnd()
    office.pass(milliseconds: 60_000)
    for session in ["1", "2"] { office.logind.sessions[session] = nil }
    _ = try signIn(8, from: 20, office)
    office.pass(milliseconds: 600_000)
    #expect(office.logind.terminated == [])
    #expect(office.records.count == 12)
  }

  @Test func aLaterEndOfAnotherIsNotHeldUpByWhatIsLeftAside() throws {
    let (office, _) = try officeWhereAllEnd()
    office.pass(milliseconds: 120_000)
    let later = try signIn(2, from: 20, office)
    office.pass(milliseconds: 60_000)
    office.says("closed", of: later[0])
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == ["20"])
  }
}
