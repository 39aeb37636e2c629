import HostState
import HostSystem
import PresenceLink
import Testing

@testable import SessionHelper

/// What is counted again, and what a restart keeps.
@Suite struct PresenceRecountTests {
  private func armedFixture() throws -> PresenceFixture {
    let desk = try PresenceFixture()
    desk.sit()
    desk.pass(seconds: 30)
    return desk
  }

  @Test func aRestartInDoubtCountsAgainAndDoesNotForget() throws {
    let desk = try armedFixture()
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 40)
    #expect(try desk.state() == .doubtful)
    desk.restart()
    desk.pass(seconds: 25)
    #expect(desk.logind.locked == [])
    desk.pass(seconds: 30)
    #expect(desk.logind.locked == ["1"])
  }

  @Test func aHelperThatEndsBeforeTheScreenIsLockedIsFollowedByOneThatLocksIt() throws {
    let desk = try armedFixture()
    desk.probe.finds = { _ in .silent }
    desk.logind.refusesToList = 1_000
    desk.pass(seconds: 120)
    #expect(desk.log.count("presence user=alice: left") == 1)
    desk.logind.refusesToList = 0
    desk.restart()
    desk.pass(seconds: 60)
    #expect(desk.logind.locked == ["1"])
  }

  /// An editor has written half of the file, or memory has run out.
  @Test func aFileThatCannotBeReadAtTheStartForgetsNobody() throws {
    let desk = try armedFixture()
    try AtomicFile.write(Array("alice\n".utf8), to: desk.folder.path + "/presence", mode: 0o600)
    desk.probe.finds = { _ in .silent }
    desk.restart()
    desk.pass(seconds: 60)
    #expect(desk.log.count("bound phones stay as they were") == 1)
    #expect(try desk.state() == .armed)
    #expect(desk.logind.locked == [])
    try desk.bind([("alice", PresenceFixture.hers)])
    desk.pass(seconds: 90)
    #expect(desk.logind.locked == ["1"])
  }

  @Test func aRestartAfterwardsConcludesNothingFromSilence() throws {
    let desk = try armedFixture()
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 90)
    desk.restart()
    desk.pass(seconds: 3_600)
    #expect(desk.logind.locked == ["1"])
    #expect(try desk.state() == .unarmed)
  }

  @Test func theNextSessionIsUnarmed() throws {
    let desk = try armedFixture()
    desk.logind.sessions = [:]
    desk.pass(seconds: 30)
    desk.probe.finds = { _ in .silent }
    desk.sit(session: "2")
    desk.pass(seconds: 600)
    #expect(desk.logind.locked == [])
  }

  @Test func aSleepIsNotAbsence() throws {
    let desk = try armedFixture()
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 40)
    desk.sleep(seconds: 8 * 3_600)
    desk.pass(seconds: 15)
    #expect(desk.logind.locked == [])
    desk.pass(seconds: 60)
    #expect(desk.logind.locked == ["1"])
  }

  /// The phone may be back, and is looked for again first.
  @Test func aLockFromBeforeASleepLogsNobodyOutBeforeThePhoneIsMissedAgain() throws {
    let desk = try armedFixture()
    desk.logind.locksScreens = false
    desk.probe.finds = { _ in .silent }
    for _ in 0..<120 where desk.logind.locked.isEmpty { desk.pass(seconds: 1) }
    #expect(desk.logind.locked == ["1"])
    desk.sleep(seconds: 8 * 3_600)
    desk.pass(seconds: 15)
    #expect(desk.logind.terminated == [])
    desk.logind.locksScreens = true
    desk.pass(seconds: 60)
    #expect(desk.logind.locked == ["1", "1"])
    #expect(desk.logind.terminated == [])
  }

  @Test func whatWaitsForLogindOverASleepIsDecidedAgain() throws {
    let desk = try armedFixture()
    desk.probe.finds = { _ in .silent }
    desk.logind.refusesToList = 1_000
    desk.pass(seconds: 120)
    #expect(desk.log.count("presence user=alice: left") == 1)
    desk.logind.refusesToList = 0
    desk.sleep(seconds: 8 * 3_600)
    desk.pass(seconds: 15)
    #expect(desk.logind.locked == [])
    desk.pass(seconds: 60)
    #expect(desk.logind.locked == ["1"])
  }

  @Test func logindTellsOfASleepToo() throws {
    let desk = try armedFixture()
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 40)
    desk.logind.tell(.preparesForSleep(false))
    desk.pass(seconds: 15)
    #expect(desk.logind.locked == [])
  }

  @Test func theFileIsReadAgain() throws {
    let desk = try armedFixture()
    try desk.bind([])
    desk.pass(seconds: 11)
    let before = desk.probe.asked.count
    desk.pass(seconds: 120)
    #expect(desk.probe.asked.count == before)
    #expect(try desk.state() == nil)
  }

  @Test func aFileThatCannotBeUsedLeavesTheFormerInForce() throws {
    let desk = try armedFixture()
    try AtomicFile.write(Array("nonsense\n".utf8), to: desk.folder.path + "/presence", mode: 0o600)
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 120)
    #expect(desk.logind.locked == ["1"])
    #expect(desk.log.count("bound phones stay as they were: \(desk.folder.path)/presence:1: not a line") == 1)
  }
}
