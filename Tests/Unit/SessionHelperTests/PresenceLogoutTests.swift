import HostState
import HostSystem
import Testing

@testable import SessionHelper

/// Logouts because a bound phone left, over a restart of the helper. No record watches these sessions.
@Suite struct PresenceLogoutTests {
  /// Alice's phone has answered, and goes.
  private func deskThatIsLeft(service: String = "") throws -> PresenceFixture {
    let desk = try PresenceFixture { $0.onPresenceLeft = .logout }
    desk.sit(service: service)
    desk.pass(seconds: 60)
    desk.probe.finds = { _ in .silent }
    return desk
  }

  /// SDDM's session has got SIGTERM, and stays.
  private func deskThatWasAsked() throws -> PresenceFixture {
    let desk = try deskThatIsLeft(service: "sddm")
    desk.seat.stubborn = ["1"]
    for _ in 0..<120 where desk.logind.askedToEnd.isEmpty { desk.pass(seconds: 1) }
    try #require(desk.logind.askedToEnd == ["session-1.scope"])
    try #require(desk.logind.killed == [] && desk.logind.terminated == [])
    return desk
  }

  /// The logouts of the helper that starts now.
  private func nextLogouts(_ desk: PresenceFixture) -> SessionLogouts {
    let logouts = SessionLogouts(
      kept: LeavingSessions(run: desk.run), logind: desk.logind, seat: desk.seat, log: desk.log)
    logouts.resume(.stop, desk.now)
    return logouts
  }

  @Test func aLogoutThatWaitsForLogindIsDecidedAgainByTheNextHelper() throws {
    let desk = try deskThatIsLeft()
    desk.logind.stuck = ["1"]
    desk.pass(seconds: 90)
    #expect(desk.log.count("session 1 not terminated") > 0)
    #expect(try desk.state() == .doubtful)
    desk.logind.stuck = []
    desk.restart()
    desk.pass(seconds: 15)
    #expect(desk.logind.terminated == [])
    desk.pass(seconds: 60)
    #expect(desk.logind.terminated == ["1"])
  }

  /// The phone may be back: it is looked for again first.
  @Test func aNoteOfALogoutThatLogindHasNotTakenEndsNothing() throws {
    let desk = try deskThatIsLeft()
    desk.logind.stuck = ["1"]
    desk.pass(seconds: 90)
    #expect(try LeavingSessions(run: desk.run).ids().count == 1)
    desk.logind.stuck = []
    desk.seat.stubborn = ["1"]
    let logouts = nextLogouts(desk)
    for second in 0..<10 { logouts.turn(desk.now + Int64(second) * 1_000) }
    #expect(desk.logind.terminated == [] && desk.logind.killed == [])
    #expect(try LeavingSessions(run: desk.run).ids() == [])
  }

  @Test func aSessionThatWasAskedToLeaveIsEndedByTheNextHelper() throws {
    let desk = try deskThatWasAsked()
    let logouts = nextLogouts(desk)
    logouts.turn(desk.now)
    logouts.turn(desk.now + 5_000)
    #expect(desk.logind.killed == ["session-1.scope"])
    #expect(desk.log.count("goes on with a logout from before a restart: user=alice") == 1)
  }

  /// logind ends a session's processes only after it has answered.
  @Test func aSessionThatLogindTerminatesIsEndedByTheNextHelper() throws {
    let desk = try deskThatIsLeft()
    let session = try #require(desk.logind.sessions["1"])
    desk.seat.stubborn = ["1"]
    for _ in 0..<1_200 where desk.logind.terminated.isEmpty { desk.pass(seconds: 0, milliseconds: 100) }
    try #require(desk.logind.killed == [])
    desk.logind.sessions["1"] = session
    let logouts = nextLogouts(desk)
    logouts.turn(desk.now)
    logouts.turn(desk.now + 5_000)
    #expect(desk.logind.killed == ["session-1.scope"])
  }

  @Test func theNextHelperWaitsForALogindThatCannotBeReached() throws {
    let desk = try deskThatWasAsked()
    desk.logind.unclear = true
    let logouts = nextLogouts(desk)
    for minute in 0..<20 { logouts.turn(desk.now + Int64(minute) * 60_000) }
    #expect(desk.logind.killed == [])
    desk.logind.unclear = false
    logouts.turn(desk.now + 20 * 60_000)
    #expect(desk.logind.killed == ["session-1.scope"])
  }
}
