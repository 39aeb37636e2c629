import Glibc
import HostState
import IAMPASSClient
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// What outlives the host of its session: tmux, mosh-server, jobs in the background.
@Suite struct RunningOnTests {
  /// The leader of alice's session has ended, and this is what it left.
  private func left(
    _ rest: (HelperFixture) -> SessionRest, type: String = "tty", _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> (office: HelperFixture, id: String) {
    let office = try HelperFixture(change)
    let gone = office.stranger
    let id = try office.signIn(type: type) {
      $0.binding = SessionRecord.Binding(logindSession: "1", leader: gone)
    }
    office.logind.close("1")
    office.seat.rests["1"] = rest(office)
    return (office, id)
  }

  private func onTerminal(_ office: HelperFixture) -> SessionRest { .onTerminal(office.own) }
  private func withoutTerminal(_ office: HelperFixture) -> SessionRest { .withoutTerminal(office.own) }

  @Test func whatHasATerminalEndsWithTheWalkaway() throws {
    let (office, id) = try left(onTerminal)
    office.pass(milliseconds: 60_000)
    #expect(office.records == [id])
    #expect(office.logind.askedToEnd == [] && office.logind.terminated == [])
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.seat.said.contains("1: Signed out: your phone left."))
    #expect(office.logind.askedToEnd == ["session-1.scope"])
    #expect(office.logind.terminated == ["1"])
  }

  @Test func whatItsHostClosedIsWatchedOn() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    office.seat.rests["1"] = onTerminal(office)
    try office.ledger.release(id)
    office.pass(milliseconds: 60_000)
    #expect(office.records == [id] && office.service.ended == [])
    #expect(try WatchNotes(run: office.run).read(id)?.isRunningOn == true)
  }

  @Test func aJobWithoutATerminalEndsWithTheWalkaway() throws {
    let (office, id) = try left(withoutTerminal)
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.askedToEnd == ["session-1.scope"])
  }

  @Test func aJobWithoutATerminalIsLeftWhereLingeringIsKept() throws {
    let (office, id) = try left(withoutTerminal) { $0.onLinger = .keep }
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    // It might still open a terminal.
    #expect(office.records == [id] && office.service.ended == [])
    office.pass(milliseconds: 10_000)
    #expect(office.records == [] && office.service.ended.count == 1)
    #expect(office.logind.askedToEnd == [] && office.logind.terminated == [] && office.logind.killed == [])
  }

  /// As mosh-server does: it first ends its ssh.
  @Test(arguments: [true, false]) func aTerminalThatIsOpenedSecondsLaterIsWatched(isWalkawayFirst: Bool) throws {
    let (office, id) = try left(withoutTerminal) { $0.onLinger = .keep }
    if isWalkawayFirst { office.says("walkaway", of: id) }
    office.pass(milliseconds: 5_000)
    #expect(office.records == [id] && office.logind.askedToEnd == [])
    office.seat.rests["1"] = onTerminal(office)
    office.pass(milliseconds: 60_000)
    if !isWalkawayFirst {
      #expect(office.records == [id] && office.service.ended == [] && office.logind.askedToEnd == [])
      office.says("walkaway", of: id)
      office.pass(milliseconds: 10_000)
    }
    #expect(office.logind.askedToEnd == ["session-1.scope"])
  }

  @Test(arguments: [true, false]) func whatKeepsTheWatchDoesSoWhereLingeringIsKept(isUnclear: Bool) throws {
    let (office, id) = try left(isUnclear ? { _ in .unclear } : onTerminal) { $0.onLinger = .keep }
    office.pass(milliseconds: 60_000)
    #expect(office.records == [id])
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.askedToEnd == ["session-1.scope"])
  }

  @Test func theServiceIsToldOnceNothingRunsOn() throws {
    let (office, _) = try left(onTerminal)
    office.pass(milliseconds: 1_000)
    #expect(office.service.ended == [])
    office.seat.rests = [:]
    office.supervisor.processEnded(office.own, at: office.now)
    office.pass(milliseconds: 200, looking: false)
    #expect(office.service.ended.count == 1)
    #expect(office.records == [])
  }

  /// The id and the leader's number are another session's by now: it is not closing.
  @Test func aSessionThatIsNotClosingIsNotEndedForIt() throws {
    let (office, id) = try left(onTerminal)
    office.logind.lead("1", by: office.own.pid)
    office.says("walkaway", of: id)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.askedToEnd == [] && office.logind.terminated == [] && office.logind.killed == [])
  }

  @Test func aStrangersSessionOfThatIDIsLeftAlone() throws {
    let (office, id) = try left(onTerminal)
    office.logind.lead("1", by: 1)
    office.logind.close("1")
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.records == [])
    #expect(office.logind.askedToEnd == [] && office.logind.terminated == [] && office.logind.killed == [])
  }

  /// logind has forgotten the session, or does not tell its leader any more.
  @Test func whatLogindHasForgottenIsKilledByWhatRunsInItsScope() throws {
    let (office, id) = try left(onTerminal)
    office.pass()
    office.seat.led = ["1"]
    office.logind.sessions = [:]
    office.logind.forgotten = ["1"]
    office.says("walkaway", of: id)
    office.pass(milliseconds: 15_000)
    #expect(office.logind.killed.first == "session-1.scope")
  }

  /// Nothing of it has a screen any more: a lock would lock nothing.
  @Test func whatOutlivesADesktopIsNotLockedButEnded() throws {
    let (office, id) = try left(onTerminal, type: "x11") { $0.onWalkaway = .lock }
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.locked == [])
    #expect(office.logind.askedToEnd == ["session-1.scope"])
  }

  @Test func whatOutlivesADesktopIsWarnedOfItsEndAndNotOfALock() throws {
    let (office, id) = try left(onTerminal, type: "x11") {
      $0.onWalkaway = .lock
      $0.walkawayGrace = 30
    }
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.seat.said == ["1: Your phone left: you are signed out in 30 s unless it comes back."])
  }

  @Test func aDesktopThatClosesWhileItIsWatchedIsNotLockedAfterwards() throws {
    let office = try HelperFixture { $0.onWalkaway = .lock }
    let id = try office.signIn(type: "x11")
    office.pass()
    office.seat.rests["1"] = onTerminal(office)
    try office.ledger.release(id)
    office.pass(milliseconds: 1_000)
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.locked == [])
    #expect(office.logind.terminated == ["1"])
  }

  @Test func anAdministratorEndsWhatRunsOn() throws {
    let (office, id) = try left(onTerminal)
    office.pass()
    try office.ledger.requestLogout(id)
    office.pass(milliseconds: 1_000)
    #expect(office.logind.askedToEnd == ["session-1.scope"])
  }

  /// A renewal closes the old record; the new one watches the same session.
  @Test func aRecordThatWasRenewedIsOver() throws {
    let office = try HelperFixture()
    let old = try office.signIn()
    office.pass()
    office.seat.rests["1"] = onTerminal(office)
    let new = try office.signIn()
    try office.ledger.release(old)
    office.pass(milliseconds: 1_000)
    #expect(office.records == [new])
  }

  @Test func aNewHelperWatchesWhatRunsOn() throws {
    let (office, id) = try left(onTerminal)
    office.restart()
    office.pass(milliseconds: 1_000)
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.askedToEnd == ["session-1.scope"])
  }
}

extension HelperFixture {
  /// The process of these tests.
  fileprivate var own: ProcessIdentity {
    ProcessIdentity(pid: stranger.pid, startTime: stranger.startTime - 1)
  }
}
