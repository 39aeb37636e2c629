import Glibc
import HostState
import HostSystem
import Testing

@testable import HostDoctor

/// Whose phone can approve without the service.
@Suite struct OfflinePhoneFindingsTests {
  private func findings(_ methods: String, verified: Bool = true, users: [String] = ["alice"], digests: Bool = true)
    throws -> [Finding]
  {
    let nowhere = "/tmp/iampass-test-nothing-is-here"
    let phones = OfflinePhones(state: RunFolder(path: nowhere), pins: nowhere + "/phones", computer: "this one")
    return OfflinePhoneFindings(
      methods: try #require(OfflineMethods(reading: methods)), services: ["sudo", "sshd"],
      phones: verified ? phones : nil, users: users,
      pageDigests: ("/etc/iampass/page-digests", digests)
    ).findings
  }

  @Test func nothingIsSaidOfAWayThatNoServiceTakes() throws {
    #expect(try findings("recovery").isEmpty && findings("none").isEmpty)
  }

  @Test func withoutVerifiedApprovalsItTakesNothing() throws {
    #expect(try findings("phone", verified: false).map(\.level) == [.problem])
  }

  @Test func usersWithoutSuchAPhoneAreNamed() throws {
    let found = try findings("phone sshd:none")
    #expect(found.map(\.level) == [.ok, .warning])
    #expect(found[0].text == "without the service, sudo take digits of phones")
    #expect(found[1].text.hasSuffix("without the service: alice"))
    #expect(try findings("phone", users: []).map(\.level) == [.ok])
  }

  @Test func aPageThatNothingIsComparedWithIsAWarning() throws {
    let found = try findings("phone", users: [], digests: false)
    #expect(found.map(\.level) == [.ok, .warning])
    #expect(try #require(found.last).hint?.contains("/etc/iampass/page-digests") == true)
    #expect(try findings("recovery", digests: false).isEmpty)
  }
}
