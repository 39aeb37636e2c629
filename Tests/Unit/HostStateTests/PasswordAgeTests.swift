import HostSystem
import Testing

@Suite struct PasswordAgeTests {
  private static let today = 20_000

  private func verdict(
    changed: Int, greatest: Int = 90, grace: Int = -1, end: Int = -1
  ) -> PasswordAge.Verdict {
    PasswordAge(lastChange: changed, greatest: greatest, grace: grace, accountEnd: end).verdict(today: Self.today)
  }

  @Test func aPasswordWithinItsAgeIsCurrent() {
    #expect(verdict(changed: Self.today) == .current)
    #expect(verdict(changed: Self.today - 90) == .current)
    #expect(verdict(changed: 1, greatest: 99_999) == .current)
  }

  @Test func aPasswordPastItsAgeMustBeChanged() {
    #expect(verdict(changed: Self.today - 91) == .mustChange)
    #expect(verdict(changed: Self.today - 1, greatest: 0) == .mustChange)
  }

  /// `chage -d 0`.
  @Test func aPasswordThatWasNeverChangedMustBeChanged() {
    #expect(verdict(changed: 0) == .mustChange)
    #expect(verdict(changed: 0, greatest: -1) == .mustChange)
  }

  @Test func afterTheDaysOfGraceTheSystemRefuses() {
    #expect(verdict(changed: Self.today - 100, grace: 10) == .mustChange)
    #expect(verdict(changed: Self.today - 101, grace: 10) == .tooOld)
    #expect(verdict(changed: Self.today - 91, grace: 0) == .tooOld)
  }

  @Test func emptyFieldsHaveNoLimit() {
    #expect(verdict(changed: -1) == .current)
    #expect(verdict(changed: 1, greatest: -1) == .current)
  }

  /// The clock was set back.
  @Test func aChangeOfTomorrowIsCurrent() {
    #expect(verdict(changed: Self.today + 1, greatest: 0) == .current)
  }

  @Test func anAccountIsOverFromItsDayOn() {
    #expect(verdict(changed: 0, end: Self.today) == .accountOver)
    #expect(verdict(changed: Self.today, end: Self.today + 1) == .current)
  }
}
