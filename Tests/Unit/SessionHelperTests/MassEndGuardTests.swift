import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

private final class Crowd {
  private var massEnd = MassEndGuard()
  private var endedUsers: UInt32 = 0

  /// This many users each, all different.
  func allows(ending: Int, doubted: Int, sound: Int, at now: Int64) -> Bool {
    let users = Set(endedUsers..<endedUsers + UInt32(ending))
    endedUsers += UInt32(ending)
    defer { massEnd.count(users, at: now) }
    return massEnd.allows(
      ending: users, doubted: Set(1_000..<1_000 + UInt32(doubted)), sound: Set(2_000..<2_000 + UInt32(sound)), at: now)
  }
}

@Suite struct MassEndGuardTests {
  @Test func oneOfManySessionsMayEnd() {
    let massEnd = Crowd()
    #expect(massEnd.allows(ending: 1, doubted: 0, sound: 199, at: 0))
  }

  @Test func allOfManySessionsMayNotEnd() {
    let massEnd = Crowd()
    #expect(!massEnd.allows(ending: 200, doubted: 0, sound: 0, at: 0))
  }

  @Test func fewerThanFiveMayAllEnd() {
    let massEnd = Crowd()
    #expect(massEnd.allows(ending: 4, doubted: 0, sound: 0, at: 0))
  }

  @Test func justHalfMayEnd() {
    let massEnd = Crowd()
    #expect(massEnd.allows(ending: 5, doubted: 0, sound: 5, at: 0))
  }

  @Test func doubtsCountWithTheEnds() {
    let massEnd = Crowd()
    #expect(!massEnd.allows(ending: 1, doubted: 5, sound: 5, at: 0))
  }

  @Test func endsOfTheLastMinuteCount() {
    let massEnd = Crowd()
    for second in 0..<5 { #expect(massEnd.allows(ending: 1, doubted: 0, sound: 9 - second, at: Int64(second))) }
    #expect(!massEnd.allows(ending: 1, doubted: 0, sound: 4, at: 59_000))
  }

  @Test func manySessionsOfOneUserAreNotACrowd() {
    let massEnd = MassEndGuard()
    #expect(massEnd.allows(ending: [7], doubted: [7], sound: [], at: 0))
    #expect(massEnd.allows(ending: [1, 2, 3, 4], doubted: [1, 2], sound: [], at: 0))
  }

  @Test func whoeverHasAnEndedSessionIsNotSoundByAnother() {
    let massEnd = MassEndGuard()
    #expect(!massEnd.allows(ending: [1, 2, 3, 4, 5], doubted: [], sound: [1, 2, 3, 4, 5, 6], at: 0))
  }

  @Test func endsOfMoreThanAMinuteAgoDoNotCount() {
    let massEnd = Crowd()
    for second in 0..<5 { _ = massEnd.allows(ending: 1, doubted: 0, sound: 9 - second, at: Int64(second)) }
    #expect(massEnd.allows(ending: 1, doubted: 0, sound: 4, at: 70_000))
  }
}
