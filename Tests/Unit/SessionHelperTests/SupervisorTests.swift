import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import HostSystem
@testable import SessionHelper

@Suite struct SupervisorTests {
  // MARK: whose session ends

  @Test func endsOnlyTheSessionWhosePhoneLeft() throws {
    let office = try HelperFixture()
    let one = try office.signIn(session: "1")
    try office.signIn(session: "2")
    try office.signIn("bob", uid: 1_001, session: "3")
    office.pass()
    office.says("walkaway", of: one)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.seat.said == ["1: Signed out: your phone left."])
    #expect(office.seat.ticketsDropped == ["alice"])
  }

  @Test func tellsTheServiceAndForgetsTheRecordOfASessionThatEnded() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.service.ended == ["https://localhost/logout/\(id)"])
    #expect(office.records == [])
    #expect(try WatchNotes(run: office.run).read(id) == nil)
  }

  @Test func asksEveryFiveSecondsWhereTheServiceDoesNotHold() throws {
    let office = try HelperFixture()
    try office.signIn()
    office.pass(milliseconds: 60_000)
    // Twice at the start: the second request tells whether the service holds replies.
    #expect((13...15).contains(office.service.asked))
  }

  @Test func doesNotTouchAReusedSessionID() throws {
    let office = try HelperFixture()
    let id = try office.signIn(session: "1")
    office.logind.sessions["1"] = LogindSession(
      id: "1", leader: 1, uid: 1_001, sessionClass: "user", type: "tty", isRemote: true, seat: "",
      scope: "session-1.scope")
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == [])
    #expect(office.service.ended.count == 1)
  }

  @Test func doesNotTouchASessionWhoseLeaderIsAnotherProcessOfThatNumber() throws {
    let office = try HelperFixture()
    let stranger = office.stranger
    let id = try office.signIn { $0.binding = SessionRecord.Binding(logindSession: "1", leader: stranger) }
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == [])
    #expect(office.records == [])
  }

  @Test func anUnclearLogindEndsNoRecord() throws {
    let office = try HelperFixture()
    try office.signIn()
    office.pass()
    office.logind.unclear = true
    office.logind.tell(.reconnected)
    office.pass(milliseconds: 120_000)
    #expect(office.service.ended == [])
    #expect(office.records.count == 1)
  }

  @Test func goesOnTryingWhereLogindIsNotThere() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.logind.refusesToTerminate = 5
    office.says("walkaway", of: id)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == ["1"])
    // Logged once, however often it is tried.
    #expect(office.seat.said.count == 1)
  }

  @Test func killsASessionThatLogindHasForgotten() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.logind.unclear = true
    office.seat.led = ["1"]
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000)
    #expect(office.logind.terminated == [])
    #expect(office.logind.killed == ["session-1.scope"])
  }

  @Test func killsNoScopeThatTheLeaderIsNotIn() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.logind.unclear = true
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000)
    #expect(office.logind.killed == [])
  }

  @Test func doesNotTouchASessionThatBecameAStrangersWhileItWasDecided() throws {
    let office = try HelperFixture { $0.walkawayGrace = 10 }
    let id = try office.signIn()
    office.says("walkaway", of: id)
    office.pass(milliseconds: 5_000)
    office.logind.sessions["1"] = someSession("1", uid: 1_001)
    office.pass(milliseconds: 6_000, looking: false)
    #expect(office.logind.terminated == [])
  }

  @Test(arguments: ["walkaway", "closed"])
  func aRestartBeforeTheLogoutLosesNothing(word: String) throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.logind.refusesToTerminate = 3
    office.says(word, of: id)
    office.pass(milliseconds: 5_000, looking: false)
    #expect(office.logind.terminated == [])
    office.restart()
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aReloadWhileEndsAreGatheredLosesNothing() throws {
    let office = try HelperFixture()
    let ids = try (1...6).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    office.pass(milliseconds: 10_000)
    office.says("closed", of: ids[0])
    office.pass(milliseconds: 5_050)
    office.supervisor.adopt(office.setup, office.service, at: office.now)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func theLogoutIsCalledOffWhenThePhoneIsBackBeforeIt() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.logind.refusesToTerminate = 6
    office.says("walkaway", of: id)
    office.pass(milliseconds: 8_000)
    office.says("active", of: id)
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == [])
    #expect(office.records == [id])
  }

  /// The phone may be back.
  @Test func aLogoutThatWaitsOverASleepIsDecidedAgain() throws {
    let office = try HelperFixture()
    let id = try officeWhereALogoutWaits(office)
    office.says(.failed(.serverFailed(status: 503)), of: id)
    office.sleep(seconds: 3_600)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
    office.says("walkaway", of: id)
    office.pass(milliseconds: 90_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aSessionThatIsOverIsLoggedOutAfterASleepAlthoughTheServiceIsSilent() throws {
    let office = try HelperFixture()
    let id = try officeWhereALogoutWaits(office, wordAfterwards: "closed")
    office.says(.failed(.serverFailed(status: 503)), of: id)
    office.sleep(seconds: 3_600)
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aLogoutForAnOutageThatWaitsOverASleepWaitsForItsTimeAgain() throws {
    let office = try HelperFixture { $0.onUnreachable = .logout }
    let id = try office.signIn()
    office.pass()
    office.logind.refusesToTerminate = 1_000
    office.says(.failed(.serverFailed(status: 503)), of: id)
    office.pass(milliseconds: 16 * 60_000)
    try #require(office.seat.said.count == 1 && office.logind.terminated == [])
    office.logind.refusesToTerminate = 0
    office.sleep(seconds: 3_600)
    office.pass(milliseconds: 14 * 60_000)
    #expect(office.logind.terminated == [])
    office.pass(milliseconds: 2 * 60_000)
    #expect(office.logind.terminated == ["1"])
  }

  /// The phone has left. logind does not terminate the session until this returns.
  private func officeWhereALogoutWaits(_ office: HelperFixture, wordAfterwards: String = "walkaway") throws -> String {
    let id = try office.signIn()
    office.pass()
    office.logind.refusesToTerminate = 1_000
    office.says("walkaway", of: id)
    office.pass(milliseconds: 6_000)
    office.says(wordAfterwards, of: id)
    office.pass(milliseconds: 6_000)
    try #require(office.seat.said.count == 1 && office.logind.terminated == [])
    office.logind.refusesToTerminate = 0
    return id
  }

  @Test func killsASessionThatAHangingLogindDoesNotTerminate() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.logind.refusesToTerminate = .max
    office.seat.led = ["1"]
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000)
    #expect(office.logind.killed == ["session-1.scope"])
  }

  // MARK: outages and mass ends

  @Test(arguments: [
    ServiceOutcome.failed(.serverFailed(status: 500)), .failed(.transport(TransportError(.certificateUntrusted))),
    .failed(.badReply(.member("session_status"))), .failed(.notAccepted(status: 401)),
    .failed(.replyNotSigned), .failed(.notFound),
  ])
  func anOutageEndsNobody(outcome: ServiceOutcome) throws {
    let office = try HelperFixture { $0.onUnreachable = .logout }
    let id = try office.signIn()
    office.pass()
    office.says(outcome, of: id)
    office.pass(milliseconds: 14 * 60_000)
    #expect(office.logind.terminated == [])
    office.pass(milliseconds: 2 * 60_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aServiceThatForgotEverybodyEmptiesNoOffice() throws {
    let office = try HelperFixture()
    let ids = try (1...200).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    office.pass(milliseconds: 10_000)
    for id in ids { office.says(.answer(.unknownSession), of: id) }
    office.pass(milliseconds: 10 * 60_000)
    #expect(office.logind.terminated == [])
    #expect(office.records.count == 200)
    #expect(office.log.lines.contains { $0.priority == LOG_CRIT })
  }

  @Test func expiredSessionsThatStayedDoNotKeepAnotherAlive() throws {
    let office = try HelperFixture { $0.onExpiry = .ignore }
    let old = try (1...4).map { number in
      try office.signIn("u\(number)", uid: UInt32(1_000 + number), session: String(number)) {
        $0 = $0.lasting(30)
      }
    }
    office.pass(milliseconds: 60_000)
    for id in old { office.says("closed", of: id) }
    office.pass(milliseconds: 10_000)
    let ids = try (5...6).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    office.pass(milliseconds: 10_000)
    office.says("closed", of: ids[0])
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["5"])
  }

  @Test(arguments: [0, 150, 2_000])
  func theVerdictWaitsForASlowNetwork(latency: Int64) throws {
    let office = try HelperFixture()
    office.service.latency = latency
    let ids = try (1...20).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    office.pass(milliseconds: 20_000)
    for number in 0..<6 {
      office.says("closed", of: ids[number])
      office.pass(milliseconds: 9_000)
    }
    office.pass(milliseconds: 20_000)
    #expect(Set(office.logind.terminated) == ["1", "2", "3", "4", "5", "6"])
  }

  @Test(arguments: [0, 150, 2_000])
  func aSlowServiceThatClosesEverybodyEmptiesNoOffice(latency: Int64) throws {
    let office = try HelperFixture()
    office.service.latency = latency
    let ids = try (1...20).map { number in
      office.pass(milliseconds: 230)
      return try office.signIn("u\(number)", uid: UInt32(1_000 + number), session: String(number))
    }
    office.pass(milliseconds: 20_000)
    for id in ids { office.says("closed", of: id) }
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
  }

  @Test(arguments: [true, false])
  func aServiceThatClosesEverybodyEmptiesNoOffice(held: Bool) throws {
    let office = try HelperFixture()
    let ids = try (1...60).map { number in
      // Polling spreads the requests, so that the first ends come one by one.
      office.pass(milliseconds: 70)
      return try office.signIn("u\(number)", uid: UInt32(1_000 + number), session: String(number))
    }
    for id in ids { office.says("active", of: id, held: held) }
    office.pass(milliseconds: 10_000)
    for id in ids { office.says("closed", of: id) }
    office.pass(milliseconds: 10 * 60_000)
    #expect(office.logind.terminated == [])
    #expect(office.log.count("nobody is logged out") >= 1)
  }

  @Test func oneOfManyThatIsClosedIsLoggedOut() throws {
    let office = try HelperFixture()
    let ids = try (1...20).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    office.pass(milliseconds: 10_000)
    office.says("closed", of: ids[6])
    office.pass(milliseconds: 6_000)
    #expect(office.logind.terminated == ["7"])
  }

  @Test func sessionsThatWereLeftAloneAreWatchedAgainOnceTheServiceRecovers() throws {
    let office = try HelperFixture()
    let ids = try (1...6).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    office.pass(milliseconds: 10_000)
    for id in ids { office.says("closed", of: id) }
    office.pass(milliseconds: 60_000)
    for id in ids { office.says("active", of: id) }
    office.pass(milliseconds: 90_000)
    #expect(office.logind.terminated == [])
    office.says("walkaway", of: ids[0])
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
  }
}
