import Testing

@testable import ServerCommands

@Suite struct LeafRenewalTests {
  private let day: Int64 = 86_400
  private let now: Int64 = 1_800_000_000

  private func decision(
    begins: Int64 = -10, ends: Int64, isOfAuthority: Bool = true, isForName: Bool = true, authorityEnds: Int64 = 3_000
  ) -> LeafRenewal {
    let facts = LeafFacts(
      isOfAuthority: isOfAuthority, isForName: isForName, begins: now + begins * day, ends: now + ends * day,
      authorityEnds: now + authorityEnds * day)
    return LeafRenewal.decide(facts, at: now)
  }

  @Test func aCertificateStaysUntilThirtyDaysBeforeItsEnd() {
    #expect(decision(ends: 31) == .keep)
    #expect(decision(ends: 30) == .make(.ends))
    #expect(decision(ends: -1) == .make(.ends))
  }

  @Test func aCertificateWhoseTimeHasNotBegunIsMadeAgain() { #expect(decision(begins: 1, ends: 300) == .make(.ends)) }

  @Test func whatTheAuthorityCannotOutliveStays() {
    #expect(decision(ends: 20, authorityEnds: 20) == .keep)
    #expect(decision(ends: -1, authorityEnds: -1) == .make(.ends))
  }

  @Test func anotherNameOrIssuerIsMadeAgain() {
    #expect(decision(ends: 300, isForName: false) == .make(.otherName))
    #expect(decision(ends: 300, isOfAuthority: false) == .make(.otherIssuer))
    #expect(LeafRenewal.decide(nil, at: now) == .make(.missing))
  }
}
