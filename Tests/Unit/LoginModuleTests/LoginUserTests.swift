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

  /// sssd finds `john_doe` by `john doe`. As a name without a token it would pass a second factor.
  @Test func aSpellingThatNoFileTakesIsThatOfTheUserWhomTheSystemFindsByIt() {
    let john = user("john doe", knownAs: "john_doe")
    #expect(john.known?.name.text == "john_doe")
    #expect(john.asked?.text == "john_doe")
    #expect(john.given == "john doe" && john.givenBytes == Array("john doe".utf8))
  }

  @Test func theSystemIsAskedAboutTheNamesBytes() throws {
    var asked: [[UInt8]] = []
    _ = LoginUser(given: "jos\u{FFFD}", bytes: [0x6A, 0x6F, 0x73, 0xE9]) { bytes in
      asked.append(bytes)
      return nil
    }
    #expect(asked == [[0x6A, 0x6F, 0x73, 0xE9]])
    #expect(try SystemUser.find(spelled: Array("root".utf8))?.uid == 0)
    for none in ["", "-rf /", "root\n", "ro\0ot"] { #expect(try SystemUser.find(spelled: Array(none.utf8)) == nil) }
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
