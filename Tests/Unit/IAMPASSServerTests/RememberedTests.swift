import Testing

@testable import IAMPASSServer

/// What is kept in memory of clients, sessions and phones.
@Suite struct RememberedTests {
  /// Reads what is not remembered, and counts it.
  private func misses(_ ids: Range<Int>, _ remembered: Remembered<Int>) -> Int {
    ids.count { id in
      if remembered["\(id)"] == id { return false }
      remembered.keep(id, as: "\(id)")
      return true
    }
  }

  @Test func aCompanysSessionsAreReadOnceAndThenRemembered() {
    let remembered = Remembered<Int>()
    let sessions = 0..<20_000
    #expect(misses(sessions, remembered) == sessions.count)
    #expect(misses(sessions, remembered) <= sessions.count / 10)
  }

  @Test func whatIsUsedStaysWhileManyOthersCome() {
    let remembered = Remembered<Int>(greatestCount: 100)
    #expect(misses(0..<10, remembered) == 10)
    for others in stride(from: 10, to: 1_000, by: 20) {
      _ = misses(others..<others + 20, remembered)
      #expect(misses(0..<10, remembered) == 0)
    }
  }

  @Test func theyTakeBoundedMemory() {
    let remembered = Remembered<Int>(greatestCount: 100)
    for number in 0..<1_000 {
      remembered.keep(number, as: "\(number)")
      #expect(remembered.count <= 100)
    }
    #expect(remembered["0"] == nil)
    #expect(remembered["999"] == 999)
  }

  @Test func aValueThatWasReplacedOrForgottenDoesNotComeBack() {
    let remembered = Remembered<Int>(greatestCount: 4)
    for number in 0..<3 { remembered.keep(number, as: "\(number)") }
    // These two are in the older half by now.
    remembered.keep(7, as: "0")
    remembered.forget("1")
    #expect(remembered["0"] == 7)
    #expect(remembered["1"] == nil)
    for number in 10..<12 { remembered.keep(number, as: "\(number)") }
    #expect(remembered["0"] != 0)
    #expect(remembered["1"] == nil)
    remembered.forgetAll()
    #expect(remembered.count == 0)
    #expect(remembered["11"] == nil)
  }
}
