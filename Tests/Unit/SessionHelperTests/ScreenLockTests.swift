import HostSystem
import Testing

@testable import HostState
@testable import SessionHelper

/// A lock whose session cannot be looked at.
@Suite struct ScreenLockTests {
  private func lock(_ presence: ProcessIdentity.Presence) throws -> (ScreenLock, HelperFixture) {
    let office = try HelperFixture()
    _ = try office.signIn("alice", uid: 1_000, session: "1")
    let found = try #require(office.logind.sessions["1"])
    let binding = SessionRecord.Binding(logindSession: "1", leader: ProcessIdentity(pid: found.leader, startTime: 1))
    return (ScreenLock(binding, uid: 1_000, .walkaway, now: 0) { _ in presence }, office)
  }

  @Test func aLeaderThatCannotBeLookedAtIsNotGone() throws {
    let (lock, office) = try lock(.unknown)
    for now in stride(from: Int64(0), to: 5_000, by: 500) {
      #expect(lock.step(office.logind, office.seat, now: now) == .underWay)
    }
    #expect(lock.step(office.logind, office.seat, now: 5_000) == .failed)
    #expect(office.logind.locked == [])
  }

  @Test func aLeaderThatHasEndedIsGone() throws {
    let (lock, office) = try lock(.gone)
    #expect(lock.step(office.logind, office.seat, now: 0) == .gone)
    #expect(office.logind.locked == [])
  }

  @Test func aLeaderThatRunsHasItsSessionLocked() throws {
    let (lock, office) = try lock(.alive)
    #expect(lock.step(office.logind, office.seat, now: 0) == .underWay)
    #expect(office.logind.locked == ["1"])
  }

  // MARK: what shows that it is locked

  private func asked() throws -> (ScreenLock, HelperFixture) {
    let (lock, office) = try lock(.alive)
    office.logind.locksScreens = false
    #expect(lock.step(office.logind, office.seat, now: 0) == .underWay)
    return (lock, office)
  }

  @Test func aLockerThatStaysShowsThatItIsLocked() throws {
    let (lock, office) = try asked()
    office.seat.lockers = ["1": RunningLocker(name: "swaylock", process: ProcessIdentity(pid: 7, startTime: 1))]
    #expect(lock.step(office.logind, office.seat, now: 500) == .underWay)
    #expect(lock.step(office.logind, office.seat, now: 1_000) == .confirmed(.locker("swaylock")))
  }

  @Test func aLockerFromBeforeASleepIsSeenTwiceAgain() throws {
    let (lock, office) = try asked()
    office.seat.lockers = ["1": RunningLocker(name: "swaylock", process: ProcessIdentity(pid: 7, startTime: 1))]
    #expect(lock.step(office.logind, office.seat, now: 500) == .underWay)
    lock.wokeUp(3_600_000)
    #expect(lock.step(office.logind, office.seat, now: 3_600_000) == .underWay)
    #expect(lock.step(office.logind, office.seat, now: 3_600_500) == .confirmed(.locker("swaylock")))
  }

  /// logind was slow with others' sessions for eight seconds.
  @Test func aLookThatComesLateTakesNoTimeFromALocker() throws {
    let (lock, office) = try asked()
    office.seat.lockers = ["1": RunningLocker(name: "swaylock", process: ProcessIdentity(pid: 7, startTime: 1))]
    #expect(lock.step(office.logind, office.seat, now: 8_000) == .underWay)
    #expect(lock.step(office.logind, office.seat, now: 8_500) == .confirmed(.locker("swaylock")))
  }

  @Test func aScreenThatStaysOpenFailsAfterALookThatCameLateToo() throws {
    let (lock, office) = try asked()
    for now in stride(from: Int64(8_000), to: 12_500, by: 500) {
      #expect(lock.step(office.logind, office.seat, now: now) == .underWay)
    }
    #expect(lock.step(office.logind, office.seat, now: 12_500) == .failed)
  }

  @Test func aLockerThatEndsAndIsStartedAgainShowsNothing() throws {
    let (lock, office) = try asked()
    for start in 1...10 {
      office.seat.lockers = [
        "1": RunningLocker(name: "swaylock", process: ProcessIdentity(pid: 7, startTime: UInt64(start)))
      ]
      let expected: ScreenLock.Outcome = start < 10 ? .underWay : .failed
      #expect(lock.step(office.logind, office.seat, now: Int64(start) * 500) == expected)
    }
  }

  @Test func aLockerOfAnotherSessionShowsNothing() throws {
    let (lock, office) = try asked()
    office.seat.lockers = ["2": RunningLocker(name: "swaylock", process: ProcessIdentity(pid: 7, startTime: 1))]
    for now in stride(from: Int64(500), to: 5_000, by: 500) {
      #expect(lock.step(office.logind, office.seat, now: now) == .underWay)
    }
    #expect(lock.step(office.logind, office.seat, now: 5_000) == .failed)
  }

  @Test func theHintIsEnough() throws {
    let (lock, office) = try asked()
    office.logind.locksScreens = true
    #expect(lock.step(office.logind, office.seat, now: 500) == .confirmed(.hint))
  }
}
