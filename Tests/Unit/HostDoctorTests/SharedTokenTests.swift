import HostDoctor
import Testing

@Suite struct SharedTokenFindingsTests {
  private func findings(_ groups: [[String]], isAllowed: Bool = false) -> [Finding] {
    SharedTokenFindings(groups: groups, isAllowed: isAllowed, greatest: 4) { $0 == "root" }.findings
  }

  @Test func twoUsersWithOneTokenAreAProblem() throws {
    let finding = try #require(findings([["alice", "bob"]]).first)
    #expect(finding.level == .problem)
    #expect(finding.text == "these have the same token, none can sign in by phone: alice, bob")
  }

  @Test func aSharedTokenThatIsAllowedIsReportedAllTheSame() throws {
    let finding = try #require(findings([["alice", "bob"]], isAllowed: true).first)
    #expect(finding.level == .warning)
    #expect(finding.text == "these have the same token, one phone signs in as each of them: alice, bob")
  }

  @Test(arguments: [false, true])
  func withRootItIsAlwaysAProblem(_ isAllowed: Bool) throws {
    let finding = try #require(findings([["alice", "root"]], isAllowed: isAllowed).first)
    #expect(finding.level == .problem)
    #expect(finding.text.hasPrefix("root is root and shares its token"))
  }

  @Test func manyAreAProblemEvenWhereItIsAllowed() {
    #expect(findings([["a", "b", "c", "d", "e"]], isAllowed: true).map(\.level) == [.problem])
    #expect(findings([["a", "b", "c", "d"]], isAllowed: true).map(\.level) == [.warning])
  }
}
