import HostState
import HostSystem
import IAMPASSProtocol
import Testing

@testable import KeyringSeal

@Suite struct SealedPayloadTests {
  private let print = String(repeating: "a", count: 64)
  private let alice = UnixUsername(validating: "alice")!
  private var payload: SealedPayload { SealedPayload(user: alice, password: Secret("grün \u{1}\""), print: print) }

  @Test func isReadAsItWasWritten() {
    #expect(SealedPayload(parsing: payload.encoded()) == payload)
  }

  @Test(arguments: [
    "", "{}", #"{"version":3,"user":"alice","print":"a","password":"YQ=="}"#,
    #"{"version":2,"user":"alice","password":"YQ=="}"#,
  ])
  func anythingElseIsNotRead(_ text: String) {
    #expect(SealedPayload(parsing: Array(text.utf8)) == nil)
  }

  @Test(arguments: [
    #"{"version":1,"print":"a","password":"YQ=="}"#, #"{"version":2,"print":"a","password":"YQ=="}"#,
    #"{"version":2,"user":"","print":"a","password":"YQ=="}"#,
  ])
  func whatDoesNotSayWhoseItIsIsNotRead(_ text: String) {
    #expect(SealedPayload(parsing: Array(text.utf8)) == nil)
  }

  @Test func aPasswordThatWasChangedSinceIsForgotten() {
    #expect(payload.verdict(for: alice, present: print) == .handOut(payload.password))
    #expect(payload.verdict(for: alice, present: String(repeating: "b", count: 64)) == .forget(.wasChanged))
  }

  /// A directory gives the number of a user who is gone to another one, whose print is the same.
  @Test func anotherUserOfTheSameNumberDoesNotGetIt() throws {
    let bob = try #require(UnixUsername(validating: "bob"))
    #expect(payload.verdict(for: bob, present: print) == .forget(.isAnothers))
  }
}
