import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// A service that sends its position in its history, and was restored from a backup.
@Suite struct PutBackTests {
  private func at(_ counter: Int64, epoch: Int64 = 1) -> ServiceMark { ServiceMark(epoch: epoch, counter: counter) }

  /// Three users are signed in. The service's last mark for them was (1, 100).
  private func office(
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> (HelperFixture, ids: [String]) {
    let office = try HelperFixture(change)
    let ids = try (1...3).map {
      try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0), mark: at(100)) {
        $0 = $0.lasting(7_200)
      }
    }
    office.pass(milliseconds: 10_000)
    return (office, ids)
  }

  private func alerts(_ office: HelperFixture) -> Int {
    office.log.lines.count { $0.priority == LOG_CRIT && $0.text.contains("went back") }
  }

  @Test(arguments: [ServiceMark(epoch: 1, counter: 40), ServiceMark(epoch: 2, counter: 40), nil])
  func whatItForgotLogsOutNobodyHoweverFewTheyAre(mark: ServiceMark?) throws {
    let (office, ids) = try office()
    for id in ids { office.says(.answer(.unknownSession), of: id) }
    office.service.toMark = .mark(mark)
    office.pass(milliseconds: 1_800_000)
    #expect(office.logind.terminated == [])
    #expect(office.service.marksAsked > 0)
    #expect((2...4).contains(alerts(office)))
  }

  /// A higher epoch alone says that the service may have lost sessions.
  @Test func itIsNotBelievedAboutASessionFromAnEarlierEpoch() throws {
    let (office, ids) = try office()
    for id in ids { office.says(.answer(.unknownSession), of: id) }
    office.service.toMark = .mark(at(5_000, epoch: 2))
    office.pass(milliseconds: 600_000)
    #expect(office.logind.terminated == [])
  }

  @Test func whatItForgotWithoutGoingBackIsOver() throws {
    let (office, ids) = try office()
    office.says(.answer(.unknownSession), of: ids[0])
    office.service.toMark = .mark(at(101))
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == ["1"])
    #expect(alerts(office) == 0)
  }

  @Test func aQuestionThatIsNotAnsweredEndsNothing() throws {
    let (office, ids) = try office()
    office.says(.answer(.unknownSession), of: ids[0])
    office.service.toMark = .failed(.replyNotSigned)
    office.pass(milliseconds: 3_600_000)
    #expect(office.logind.terminated == [])
    #expect(office.service.marksAsked > 10)
  }

  /// Otherwise whoever carries the requests could answer them unsigned, and no outage would ever be one.
  @Test func whatNobodySignedDoesNotEndAnOutage() throws {
    let (office, ids) = try office { $0.onUnreachable = .logout }
    office.says(.answer(.unknownSession), of: ids[0])
    office.service.toMark = .failed(.replyNotSigned)
    office.pass(milliseconds: 800_000)
    #expect(office.logind.terminated == [])
    office.pass(milliseconds: 200_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aBelievedMarkEndsAnOutage() throws {
    let (office, ids) = try office { $0.onUnreachable = .logout }
    office.says(.answer(.unknownSession), of: ids[0])
    office.service.toMark = .mark(at(40))
    office.pass(milliseconds: 1_800_000)
    #expect(office.logind.terminated == [])
  }

  @Test(arguments: ["closed", "walkaway", "timeout", "gone-fishing"])
  func noWordOfItEndsASession(word: String) throws {
    for mark in [at(40), at(99), at(5_000, epoch: 2), at(5_000, epoch: 0), nil] {
      let (office, ids) = try office()
      office.says(word, of: ids[0], reason: "LOGGED_OUT", mark: mark)
      office.pass(milliseconds: 300_000)
      #expect(office.logind.terminated == [])
      #expect(alerts(office) == 1)
    }
  }

  @Test func isBelievedFromTheMomentThatItSaysThatTheSessionLives() throws {
    let (office, ids) = try office()
    office.hears("closed", at(40, epoch: 2), of: ids[0], for: 60_000)
    office.hears("active", at(41, epoch: 2), of: ids[0], for: 90_000)
    office.hears("closed", at(42, epoch: 2), of: ids[0], for: 10_000)
    #expect(office.logind.terminated == ["1"])
  }

  /// Another session took over its process and goes on.
  @Test func theFormerOfTwoServicesIsNotBelieved() throws {
    let (office, ids) = try office()
    office.hears("active", at(9, epoch: 2), of: ids[0], for: 10_000)
    office.hears("active", at(900, epoch: 1), of: ids[0], for: 120_000)
    office.hears("closed", at(901, epoch: 1), of: ids[0], for: 120_000)
    #expect(office.logind.terminated == [])
  }

  @Test func whoeverSignsInAfterwardsIsWatchedAsEver() throws {
    let (office, ids) = try office()
    for id in ids { office.says("closed", of: id, mark: at(40)) }
    office.pass(milliseconds: 10_000)
    let later = try office.signIn("dora", uid: 1_009, session: "9", mark: at(41))
    office.pass(milliseconds: 10_000)
    office.says("closed", of: later, mark: at(42))
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["9"])
  }

  @Test func isRememberedOverARestart() throws {
    let (office, ids) = try office()
    office.says("active", of: ids[0], mark: at(200))
    office.pass(milliseconds: 10_000)
    office.restart()
    office.says("closed", of: ids[0], mark: at(150))
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == [])
  }

  @Test func isKnownFromTheSignInAlready() throws {
    let office = try HelperFixture()
    let id = try office.signIn(mark: at(100))
    office.says("closed", of: id, mark: at(99))
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == [])
  }

  @Test func aSessionsTimeIsOverWhateverItRemembers() throws {
    let (office, ids) = try office()
    for id in ids { office.says("closed", of: id, mark: at(40)) }
    office.pass(milliseconds: 7_200_000 + 120_000)
    #expect(office.logind.terminated.count == 3)
    let alerted = alerts(office)
    office.pass(milliseconds: 3_600_000)
    #expect(alerts(office) == alerted)
  }

  @Test func anAdministratorEndsIt() throws {
    let (office, ids) = try office()
    office.says("closed", of: ids[0], mark: at(40))
    office.pass(milliseconds: 60_000)
    try office.ledger.requestLogout(ids[0])
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
  }
}

extension HelperFixture {
  /// The service says this of a session, at this position in its history, for some milliseconds.
  fileprivate func hears(_ word: String, _ mark: ServiceMark, of id: String, for time: Int64) {
    says(word, of: id, mark: mark)
    pass(milliseconds: time)
  }
}
