import HostSystem
import SignInBroker
import Testing

@Suite struct CallersTests {
  private let start = MonotonicInstant(nanoseconds: 0)

  @Test func aUserHasOneOpenRequest() {
    var callers = Callers()
    callers.add(10, uid: 1_000, now: start)
    #expect(!callers.admits(1_000))
    #expect(callers.admits(1_001))
    callers.remove(10)
    #expect(callers.admits(1_000))
  }

  @Test func rootAsksForSeveralUsersAtOnce() {
    var callers = Callers()
    callers.add(10, uid: 0, now: start)
    #expect(callers.admits(0))
  }

  @Test func twentyUsersAreServedAtOnceAndLeaveRoomForRoot() {
    var callers = Callers()
    for number in 0..<20 {
      #expect(callers.admits(UInt32(1_000 + number)))
      callers.add(Int32(10 + number), uid: UInt32(1_000 + number), now: start)
    }
    #expect(!callers.admits(5_000))
    #expect(callers.admits(0))
  }

  /// A user has pkexec(1) call as root as often as they like.
  @Test func rootsCallersLeaveRoomForUsers() {
    var callers = Callers()
    for number in 0..<20 {
      #expect(callers.admits(0))
      callers.add(Int32(10 + number), uid: 0, now: start)
    }
    #expect(!callers.admits(0))
    #expect(callers.admits(1_000))
  }

  @Test func thirtyCallersAreServedAtOnce() {
    var callers = Callers()
    for number in 0..<30 { callers.add(Int32(10 + number), uid: number < 15 ? 0 : UInt32(number), now: start) }
    #expect(!callers.admits(5_000))
    #expect(!callers.admits(0))
  }

  @Test func aCallersProcessIsNamedOnceWhenItsTimeIsOver() {
    var callers = Callers()
    callers.add(10, uid: 1_000, now: start)
    let end = start.advanced(milliseconds: Callers.lifetime)
    #expect(callers.overdue(end.advanced(milliseconds: -1)).isEmpty)
    #expect(callers.milliseconds(start) == Callers.lifetime)
    #expect(callers.overdue(end) == [10])
    #expect(callers.overdue(end).isEmpty)
    #expect(callers.count == 1)
  }
}
