import Glibc
import HostState
import Testing

@testable import HostSystem
@testable import LoginModule
@testable import WorkerLink

@Suite struct LoginUserTests {
  private func user(_ given: String, knownAs spelled: String?) -> LoginUser {
    LoginUser(given: given, bytes: Array(given.utf8)) { _ in
      spelled.flatMap { UnixUsername(validating: $0) }.map { SystemUser(name: $0, uid: 1_000) }
    }
  }

  /// A directory that knows `Alice` too: the record has the system's spelling, and so must the trial's note.
  @Test func anApprovalHasTheSystemsSpellingAsTheRecordHas() {
    let alice = user("Alice", knownAs: "alice")
    #expect(alice.known?.name.text == "alice")
    #expect(alice.logged == "alice")
    #expect(alice.asked?.text == "alice")
    #expect(alice.given == "Alice")
  }

  @Test func aNameThatTheSystemDoesNotKnowIsAskedAboutAsItIs() {
    let nobody = user("mallory", knownAs: nil)
    #expect(nobody.known == nil)
    #expect(nobody.logged == nil)
    #expect(nobody.asked?.text == "mallory")
  }

  @Test func aNameThatCannotBeLookedUpIsNotUnknown() throws {
    let alice = LoginUser(given: "Alice", bytes: Array("Alice".utf8)) { (_) throws(UserLookupError) in
      throw .system(EMFILE)
    }
    #expect(alice.lookup == .failure(.system(EMFILE)))
    #expect(alice.known == nil && alice.logged == nil && alice.asked?.text == "Alice")
    #expect(user("mallory", knownAs: nil).lookup == .success(nil))
  }

  @Test func anInvalidNameIsAskedAboutAsUnknown() {
    let nobody = user("-rf /", knownAs: nil)
    #expect(nobody.known == nil)
    #expect(nobody.asked?.text == "unknown")
  }
}
