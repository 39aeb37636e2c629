import HostSystem
import SignInBroker
import Testing

@Suite struct AbsentCallersTests {
  private let start = MonotonicInstant(nanoseconds: 0)

  private func later(_ milliseconds: Int64) -> MonotonicInstant { start.advanced(milliseconds: milliseconds) }

  /// Who signs in is taken soon afterwards.
  @Test func aRefusalIsRememberedForASecond() {
    var callers = AbsentCallers()
    #expect(!callers.contains(1_000, now: start))
    _ = callers.add(1_000, now: start)
    _ = callers.add(1_000, now: later(900))
    #expect(callers.contains(1_000, now: later(999)))
    #expect(!callers.contains(1_000, now: later(1_000)))
    #expect(!callers.contains(1_001, now: start))
  }

  @Test func aUidHasOneLineAMinute() {
    var callers = AbsentCallers()
    #expect(callers.add(1_000, now: start) == 0)
    for number in 1...500 { #expect(callers.add(1_000, now: later(Int64(number))) == nil) }
    #expect(callers.add(1_000, now: later(60_000)) == 500)
    #expect(callers.add(1_000, now: later(60_001)) == nil)
  }

  @Test func manyUidsHaveFewLines() {
    var callers = AbsentCallers()
    let lines = (0..<10_000).count { callers.add(UInt32(100_000 + $0), now: later(Int64($0))) != nil }
    #expect(lines == 10)
    #expect(callers.add(5, now: later(60_000)) == 9_990)
  }

  @Test func manyUidsAreNotAllRemembered() {
    var callers = AbsentCallers()
    for number in 0..<1_000 { _ = callers.add(UInt32(number), now: start) }
    #expect((0..<1_000).count { callers.contains($0, now: start) } <= 256)
  }
}
