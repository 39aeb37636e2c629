import HostSystem
import Testing

@testable import HostState
@testable import SessionHelper

/// A lock whose session cannot be looked at.
@Suite struct ScreenLockTests {
  private func lock(_ presence: ProcessIdentity.Presence) throws -> (ScreenLock, OfficeLogind) {
    let office = try Office()
    _ = try office.signIn("alice", uid: 1_000, session: "1")
    let found = try #require(office.logind.sessions["1"])
    let binding = SessionRecord.Binding(logindSession: "1", leader: ProcessIdentity(pid: found.leader, startTime: 1))
    return (ScreenLock(binding, uid: 1_000, .walkaway, now: 0) { _ in presence }, office.logind)
  }

  @Test func aLeaderThatCannotBeLookedAtIsNotGone() throws {
    let (lock, logind) = try lock(.unknown)
    #expect(lock.step(logind, now: 0) == .underWay)
    #expect(lock.step(logind, now: 4_999) == .underWay)
    #expect(lock.step(logind, now: 5_000) == .failed)
    #expect(logind.locked == [])
  }

  @Test func aLeaderThatHasEndedIsGone() throws {
    let (lock, logind) = try lock(.gone)
    #expect(lock.step(logind, now: 0) == .gone)
    #expect(logind.locked == [])
  }

  @Test func aLeaderThatRunsHasItsSessionLocked() throws {
    let (lock, logind) = try lock(.alive)
    #expect(lock.step(logind, now: 0) == .underWay)
    #expect(logind.locked == ["1"])
  }
}
