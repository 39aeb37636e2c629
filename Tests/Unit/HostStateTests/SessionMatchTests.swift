import Glibc
import HostState
import HostSystem
import Testing

@Suite struct SessionMatchTests {
  private let uid: UInt32 = 1_000

  private func session(id: String = "3", leader: Int32 = getpid(), uid: UInt32 = 1_000) -> LogindSession {
    LogindSession(
      id: id, leader: leader, uid: uid, sessionClass: "user", type: "tty", isRemote: false, seat: "",
      scope: "session-\(id).scope")
  }

  private func running() throws -> SessionRecord.Binding {
    SessionRecord.Binding(logindSession: "3", leader: try #require(ProcessIdentity.current()))
  }

  /// This process's number, as an earlier process had it.
  private func ended() throws -> SessionRecord.Binding {
    let leader = try #require(ProcessIdentity.current())
    return SessionRecord.Binding(
      logindSession: "3", leader: ProcessIdentity(pid: leader.pid, startTime: leader.startTime - 1))
  }

  @Test(arguments: [LeaderRule.mustRun, .mayHaveEnded])
  func theSessionOfTheRecordMatches(_ rule: LeaderRule) throws {
    #expect(try running().matches(session(), of: uid, leader: rule))
  }

  @Test(arguments: [LeaderRule.mustRun, .mayHaveEnded])
  func anotherSessionOfTheSameUserDoesNotMatch(_ rule: LeaderRule) throws {
    #expect(try !running().matches(session(id: "4"), of: uid, leader: rule))
  }

  /// logind was restarted, and has given the id again.
  @Test(arguments: [LeaderRule.mustRun, .mayHaveEnded])
  func aSessionWithAnotherLeaderDoesNotMatch(_ rule: LeaderRule) throws {
    #expect(try !running().matches(session(leader: getppid()), of: uid, leader: rule))
  }

  @Test(arguments: [LeaderRule.mustRun, .mayHaveEnded])
  func aSessionOfAnotherUserDoesNotMatch(_ rule: LeaderRule) throws {
    #expect(try !running().matches(session(uid: 0), of: uid, leader: rule))
  }

  @Test func nothingIsDoneToASessionWhoseLeadersNumberWasGivenAgain() throws {
    #expect(try !ended().matches(session(), of: uid, leader: .mustRun))
  }

  @Test func whatIsLeftOfASessionMatchesAfterItsLeaderEnded() throws {
    #expect(try ended().matches(session(), of: uid, leader: .mayHaveEnded))
  }
}
