import Glibc
import HostSystem
import Testing
import WorkerLink

struct AddressRaceTests {
  private let start = MonotonicInstant(nanoseconds: 0)

  private func address(_ number: UInt8, family: Int32 = AF_INET) -> HostAddress {
    HostAddress(family: family, bytes: [number])
  }

  private func after(_ milliseconds: Int64) -> MonotonicInstant { start.advanced(milliseconds: milliseconds) }

  @Test func aSilentAddressHoldsUpNoOther() {
    var race = AddressRace([address(1), address(2)], proven: nil, at: start)
    #expect(race.due(start) == address(1))
    race.began(address(1), socket: 1, at: start)
    #expect(race.due(after(249)) == nil)
    #expect(race.wakeTime == after(250))
    #expect(race.due(after(250)) == address(2))
    race.began(address(2), socket: 2, at: after(250))
    #expect(race.sockets == [1, 2])
  }

  @Test func afterARefusalTheNextStartsAtOnce() {
    var race = AddressRace([address(1), address(2), address(3)], proven: nil, at: start)
    #expect(race.due(start) == address(1))
    race.failed(with: ENETUNREACH, at: start)
    #expect(race.due(start) == address(2))
    race.began(address(2), socket: 2, at: start)
    race.failed(socket: 2, with: ECONNREFUSED, at: after(10))
    #expect(race.due(after(10)) == address(3))
    #expect(race.errors == [ENETUNREACH, ECONNREFUSED])
  }

  @Test func eachAddressHasItsOwnShare() {
    var race = AddressRace([address(1), address(2)], proven: nil, at: start)
    for (place, time) in [(1, 0), (2, 250)] as [(Int32, Int64)] {
      let next = race.due(after(time))
      race.began(next ?? address(9), socket: place, at: after(time))
    }
    #expect(race.wakeTime == after(AddressRace.share))
    #expect(race.late(after(AddressRace.share - 1)) == nil)
    #expect(race.late(after(AddressRace.share)) == 1)
    race.failed(socket: 1, with: ETIMEDOUT, at: after(AddressRace.share))
    #expect(race.late(after(AddressRace.share)) == nil)
    #expect(!race.isLost)
    race.failed(socket: 2, with: ETIMEDOUT, at: after(AddressRace.share + 250))
    #expect(race.isLost)
    #expect(race.wakeTime == nil)
  }

  @Test func twoSilentAddressesAreLostWithinThreeSeconds() {
    var race = AddressRace([address(1), address(2, family: AF_INET6)], proven: nil, at: start)
    for (place, time) in [(1, 0), (2, AddressRace.delay)] as [(Int32, Int64)] {
      race.began(race.due(after(time)) ?? address(9), socket: place, at: after(time))
    }
    while let end = race.wakeTime, let socket = race.late(end) {
      #expect(end < after(3_000))
      race.failed(socket: socket, with: ETIMEDOUT, at: end)
    }
    #expect(race.isLost)
  }

  @Test func familiesTakeTurns() {
    let far = (11...12).map { address($0, family: AF_INET6) }
    let near = (1...3).map { address($0) }
    #expect(AddressRace.ordered(far + near, proven: nil) == [far[0], near[0], far[1], near[1], near[2]])
    #expect(AddressRace.ordered(near + far, proven: nil) == [near[0], far[0], near[1], far[1], near[2]])
  }

  @Test func theAddressThatServedLastStartsFirst() {
    let all = (1...3).map { address($0) }
    #expect(AddressRace.ordered(all, proven: all[2]) == [all[2], all[0], all[1]])
  }

  @Test func anAddressThatTheNameNoLongerHasIsNotTried() {
    #expect(AddressRace.ordered([address(1)], proven: address(2)) == [address(1)])
  }

  @Test func anAddressThatComesTwiceIsTriedOnce() {
    #expect(AddressRace.ordered([address(1), address(2), address(1)], proven: nil) == [address(1), address(2)])
  }
}
