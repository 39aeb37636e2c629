import HostDoctor
import HostState
import Testing

@Suite struct SealedPasswordFindingsTests {
  private let alice = SealedPasswordFindings.Kept(name: "alice", owner: .withToken)
  private let bob = SealedPasswordFindings.Kept(name: "bob", owner: .withoutToken)
  private let gone = SealedPasswordFindings.Kept(name: "4711", owner: .unknown)

  private func findings(_ policy: KeyringPolicy, _ kept: [SealedPasswordFindings.Kept]) -> [Finding] {
    SealedPasswordFindings(policy: policy, kept: kept).findings
  }

  @Test func whatServesItsUserIsNotMentioned() {
    #expect(findings(.sealed, [alice]).isEmpty)
    #expect(findings(.sealed, []).isEmpty)
    #expect(findings(.off, []).isEmpty)
  }

  @Test func switchedOffEachOneIsALeftover() {
    let found = findings(.off, [alice, bob, gone])
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text == "keyring is off, but login passwords are still sealed here: alice, bob, 4711")
    #expect(found.first?.hint == "iampassctl keyring forget --all")
  }

  @Test func usersWithoutATokenAndThoseWhoAreGoneAreNamed() {
    let found = findings(.sealed, [alice, bob, gone])
    #expect(found.map(\.level) == [.warning, .warning])
    #expect(
      found.map(\.text) == [
        "login passwords of users without a token are still sealed here: bob",
        "login passwords of users whom this system does not know are still sealed here: 4711",
      ])
    #expect(found.map(\.hint) == ["iampassctl keyring forget bob", "iampassctl keyring forget 4711"])
  }
}
