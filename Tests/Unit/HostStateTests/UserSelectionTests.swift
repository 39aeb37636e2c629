import HostState
import HostSystem
import Testing

@Suite struct UserSelectionTests {
  private func user(_ uid: UInt32) throws -> SystemUser {
    SystemUser(name: try #require(UnixUsername(validating: "alice")), uid: uid)
  }

  @Test func peopleAreIncludedUnlessSomethingElseIsSaid() throws {
    let usual = UserSelection.usual
    for (uid, isIn) in [
      (0, false), (1, false), (999, false), (1_000, true), (59_999, true), (60_000, false), (65_534, false),
    ] {
      #expect(usual.includes(try user(UInt32(uid))) == isIn, "\(uid)")
    }
  }

  @Test func groupsNarrowIt() throws {
    let some = try #require(UserSelection("1000-2000 5000 group:staff group:ops"))
    #expect(some.uids == [1_000...2_000, 5_000...5_000])
    #expect(some.includes(try user(1_500)) { _, group in group == "ops" })
    #expect(!some.includes(try user(1_500)) { _, _ in false })
    #expect(!some.includes(try user(3_000)) { _, _ in true })
  }

  @Test(arguments: ["", "0-100", "0", "100-1", "a", "1-2-3", "-5", "5-", "group:staff", "1000 group:", "4294967296"])
  func anythingElseIsRefused(_ text: String) { #expect(UserSelection(text) == nil) }

  @Test func rootIsInNoSelection() throws {
    #expect(!UserSelection(uids: [0...100], groups: []).includes(try user(0)))
  }

  @Test func membershipIsTheSystems() throws {
    let root = try #require(UnixUsername(validating: "root").flatMap { SystemUser(named: $0) })
    #expect(root.isMember(ofGroup: "root"))
    #expect(!root.isMember(ofGroup: "no-such-group"))
  }
}
