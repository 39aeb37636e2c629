import HostState
import Testing

/// What a module line with the word `keyring` does.
@Suite struct KeyringActTests {
  private let alice = Array("alice".utf8)

  @Test func anApprovalWithoutAPasswordGetsTheSealedOne() {
    #expect(KeyringAct.of(approved: alice, user: alice, hasPassword: false) == .give)
  }

  @Test func anApprovalOfAnotherNameGetsNothing() {
    #expect(KeyringAct.of(approved: alice, user: Array("bob".utf8), hasPassword: false) == .nothing)
  }

  @Test func aPasswordWithoutAnApprovalIsKept() {
    #expect(KeyringAct.of(approved: nil, user: alice, hasPassword: true) == .keep)
  }

  @Test func bothOrNeitherNeedNothing() {
    #expect(KeyringAct.of(approved: alice, user: alice, hasPassword: true) == .nothing)
    #expect(KeyringAct.of(approved: nil, user: alice, hasPassword: false) == .nothing)
  }
}
