import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostDoctor

/// What `check` says of a signed list's age, and of changes that nobody has signed.
@Suite struct SignedListFindingsTests {
  private let version = UserListVersion(epoch: 1, number: 7)

  private func findings(_ unsigned: UnsignedChanges?) -> [Finding] {
    SignedListFindings.findings(version, age: 3 * 86_400, unsigned)
  }

  @Test func theAgeOfTheListIsSaid() {
    let found = findings(nil)
    #expect(found.map(\.text) == ["the signed list in force here, version 1.7, came 3 d ago"])
    #expect(found.map(\.level) == [.ok])
  }

  @Test func changesThatAreLeftUnsignedAreAWarning() throws {
    let found = try #require(findings(UnsignedChanges(count: 3, age: 7_200)).last)
    #expect(found.level == .warning)
    #expect(
      found.text == "the service has 3 changes of users that no administrator has signed; the first is 2 h old; this "
        + "computer keeps the list in force")
    #expect(findings(UnsignedChanges(count: 1, age: nil)).last?.level == .warning)
  }

  @Test func changesOfAMomentAgoAreNotFindings() throws {
    let found = try #require(findings(UnsignedChanges(count: 1, age: 30)).last)
    #expect(found.level == .ok)
    #expect(found.text.contains("the service has 1 change of users") && found.text.contains("the first is 1 min old"))
  }

  @Test func aListThatMustBeSignedAgainIsNamed() throws {
    let found = try #require(findings(UnsignedChanges(count: 0, age: 86_400)).last)
    #expect(found.text.hasPrefix("the service's list of users must be signed again, for 24 h now; "))
  }
}
