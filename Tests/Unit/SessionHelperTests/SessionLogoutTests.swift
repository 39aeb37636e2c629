import HostState
import HostSystem
import Testing

@testable import SessionHelper
@testable import WorkerLink

/// What happens to processes that survive a logout, and to the user's manager.
@Suite struct SessionLogoutTests {
  @Test func killsWhatIsLeftAfterFiveSeconds() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.seat.stubborn = ["1"]
    office.says("walkaway", of: id)
    office.pass(milliseconds: 9_000)
    #expect(office.logind.killed == [])
    office.pass(milliseconds: 2_000)
    #expect(office.logind.killed.first == "session-1.scope")
  }

  @Test func aSleepTakesNoTimeFromWhatIsLeft() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.seat.stubborn = ["1"]
    office.says("walkaway", of: id)
    office.pass(milliseconds: 7_000)
    #expect(office.logind.terminated == ["1"])
    office.sleep(seconds: 3_600)
    office.pass(milliseconds: 4_000)
    #expect(office.logind.killed == [])
    office.pass(milliseconds: 2_000)
    #expect(office.logind.killed.first == "session-1.scope")
  }

  /// logind is slow with each of the first four: eight seconds pass until the next turn.
  @Test func aLogoutIsNotHeldUpByOthersThatFail() throws {
    let office = try HelperFixture()
    let logouts = SessionLogouts(
      kept: LeavingSessions(run: office.run), logind: office.logind, seat: office.seat, log: office.log)
    for number in 1...5 {
      let id = try office.signIn("u\(number)", uid: UInt32(1_000 + number), session: String(number))
      let record = try office.ledger.read(id)
      let binding = try #require(record.binding)
      logouts.begin(LeavingSession(record, binding), .walkaway, office.setup, Int64(number))
    }
    office.logind.stuck = ["1", "2", "3", "4"]
    logouts.turn(100)
    #expect(office.logind.terminated == [])
    logouts.turn(8_100)
    #expect(office.logind.terminated == ["5"])
  }

  @Test func goesOnKillingWhereTheServiceManagerIsNotThereYet() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.seat.stubborn = ["1"]
    office.logind.refusesToKill = 4
    office.says("walkaway", of: id)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.killed.first == "session-1.scope")
  }

  @Test func stopsTheUsersManagerAfterTheLastSession() throws {
    let office = try HelperFixture()
    let one = try office.signIn(session: "1")
    let two = try office.signIn(session: "2")
    office.pass()
    office.says("walkaway", of: one)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.stopped == [])
    office.says("walkaway", of: two)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.stopped == ["user@1000.service"])
  }

  @Test func keepsTheUsersManagerWhereThatIsConfigured() throws {
    let office = try HelperFixture { $0.onLinger = .keep }
    let id = try office.signIn()
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.logind.stopped == [])
  }

  // MARK: over a restart of the helper

  /// Its host has closed the record in the meantime. Only this note tells the next helper.
  @Test func whatIsLeftOfALogoutIsKilledByTheNextHelper() throws {
    let (office, id) = try officeAfterALogout()
    try office.ledger.remove(id)
    office.logind.forgotten = ["1"]
    office.restart()
    office.pass(milliseconds: 3_000)
    #expect(office.logind.killed == [])
    office.pass(milliseconds: 3_000)
    #expect(Set(office.logind.killed) == ["session-1.scope"])
    office.seat.stubborn = []
    office.pass(milliseconds: 2_000)
    #expect(try LeavingSessions(run: office.run).ids() == [])
    #expect(office.logind.stopped == ["user@1000.service"])
  }

  @Test func aSessionThatHasTheIdOfOneThatWasLoggedOutIsLeftAlone() throws {
    let (office, id) = try officeAfterALogout()
    try office.ledger.remove(id)
    office.logind.sessions["1"] = LogindSession(
      id: "1", leader: 1, uid: 1_000, sessionClass: "user", type: "tty", isRemote: true, seat: "",
      scope: "session-1.scope")
    office.restart()
    office.pass(milliseconds: 20_000)
    #expect(office.logind.killed == [])
    #expect(office.logind.terminated == ["1"])
    #expect(try LeavingSessions(run: office.run).ids() == [])
  }

  @Test func aLogoutThatWasOnlyNotedIsDecidedAgain() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    let record = try office.ledger.read(id)
    try LeavingSessions(run: office.run).write(LeavingSession(record, try #require(record.binding)))
    office.restart()
    office.pass(milliseconds: 20_000)
    #expect(office.logind.terminated == [] && office.logind.killed == [])
    #expect(try LeavingSessions(run: office.run).ids() == [])
  }

  /// A helper was killed as it ended the session for an administrator.
  @Test func anEndThatIsStillAskedForIsNotHeldUpByItsNote() throws {
    let office = try HelperFixture()
    let id = try office.signIn { $0.isLogoutRequested = true }
    let record = try office.ledger.read(id)
    try LeavingSessions(run: office.run).write(LeavingSession(record, try #require(record.binding)))
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == ["1"])
  }

  /// Such an end is decided once: what is dropped here never comes.
  @Test func anEndThatIsDecidedWhileItsNoteWaitsForLogindIsCarriedOut() throws {
    let office = try HelperFixture()
    let record = try office.ledger.read(office.signIn())
    let binding = try #require(record.binding)
    let leaving = LeavingSession(record, binding)
    try LeavingSessions(run: office.run).write(leaving)
    let logouts = SessionLogouts(
      kept: LeavingSessions(run: office.run), logind: office.logind, seat: office.seat, log: office.log)
    office.logind.unclear = true
    logouts.resume(.stop, 0)
    logouts.turn(0)
    #expect(office.log.count("logged out before, cannot be looked at") == 1)
    office.logind.unclear = false
    logouts.begin(leaving, .walkaway, office.setup, 100)
    logouts.turn(200)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func anEndThatTakesTheNotesPlaceStopsTheManagerOfASessionThatHasGone() throws {
    let office = try HelperFixture()
    let record = try office.ledger.read(office.signIn())
    let leaving = LeavingSession(record, try #require(record.binding))
    try LeavingSessions(run: office.run).write(leaving)
    let gone = LogoutFacts(
      sight: .gone, isOurs: false, isOursOrLeft: false, isRest: false, isLed: false, isLeaderUnclear: false)
    var resumed = SessionLogout(resuming: leaving, onLinger: .stop, now: 0)
    #expect(resumed.took(.facts(gone), at: 0) == nil)
    var following = SessionLogout(
      leaving, rest: nil, .walkaway, line: "", onLinger: .stop, follows: true, now: 0)
    #expect(following.took(.facts(gone), at: 0) == nil)
    for logout in [resumed, following] {
      if case .stopManager? = logout.next(at: 0) {} else { Issue.record("the manager stays") }
    }
  }

  @Test func aDamagedNoteOfALogoutIsNamedAndLeft() throws {
    let office = try HelperFixture()
    let id = "0123456789abcdef0123456789abcdef"
    try AtomicFile.write(Array("{".utf8), to: office.run.folder("leaving") + "/" + id, mode: 0o600)
    office.pass(milliseconds: 1_000)
    #expect(office.log.count("logout \(id), begun before, is left as it is") == 1)
    #expect(try LeavingSessions(run: office.run).ids() == [id])
  }

  /// Logged out, with processes that do not end.
  private func officeAfterALogout() throws -> (HelperFixture, id: String) {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.seat.stubborn = ["1"]
    office.says("closed", of: id)
    office.pass(milliseconds: 5_500)
    try #require(office.logind.terminated == ["1"])
    return (office, id)
  }
}
