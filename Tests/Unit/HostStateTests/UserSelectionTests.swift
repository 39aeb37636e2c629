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
      #expect(try usual.includes(user(UInt32(uid))) == isIn, "\(uid)")
    }
  }

  @Test func groupsNarrowIt() throws {
    let some = try #require(UserSelection("1000-2000 5000 group:staff group:ops"))
    #expect(some.uids == [1_000...2_000, 5_000...5_000])
    #expect(try some.includes(user(1_500)) { _, group in group == "ops" })
    #expect(try !some.includes(user(1_500)) { _, _ in false })
    #expect(try !some.includes(user(3_000)) { _, _ in true })
  }

  @Test func aGroupThatCannotBeKnownIsNotOneWithoutTheUser() throws {
    let some = try #require(UserSelection("1000-2000 group:staff group:ops"))
    func isIn(_ uid: UInt32, staff: Bool) throws(UserLookupError) -> Bool {
      try some.includes(SystemUser(name: UnixUsername(validating: "alice")!, uid: uid)) {
        (_, group) throws(UserLookupError) in
        if group == "staff" { return staff }
        throw .noSuchGroup(group)
      }
    }
    #expect(throws: UserLookupError.noSuchGroup("ops")) { try isIn(1_500, staff: false) }
    #expect(try isIn(1_500, staff: true))
    // Nobody is asked about users who are out by their number.
    #expect(try !isIn(3_000, staff: true))
  }

  @Test(arguments: ["", "0-100", "0", "100-1", "a", "1-2-3", "-5", "5-", "group:staff", "1000 group:", "4294967296"])
  func anythingElseIsRefused(_ text: String) { #expect(UserSelection(text) == nil) }

  @Test func rootIsInNoSelection() throws {
    #expect(try !UserSelection(uids: [0...100], groups: []).includes(user(0)))
  }

  @Test func membershipIsTheSystems() throws {
    let name = try #require(UnixUsername(validating: "root"))
    let root = try #require(try SystemUser.find(named: name))
    #expect(try root.isMember(ofGroup: "root"))
    #expect(try !root.isMember(ofGroup: "daemon"))
    #expect(throws: UserLookupError.noSuchGroup("no-such-group")) { try root.isMember(ofGroup: "no-such-group") }
    #expect(throws: UserLookupError.changed) {
      try SystemUser(name: root.name, uid: 1).isMember(ofGroup: "root")
    }
  }
}
