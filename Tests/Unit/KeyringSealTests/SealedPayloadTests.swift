import HostState
import IAMPASSProtocol
import Testing

@testable import KeyringSeal

@Suite struct SealedPayloadTests {
  private let print = String(repeating: "a", count: 64)
  private var payload: SealedPayload { SealedPayload(password: Secret("grün \u{1}\""), print: print) }

  @Test func isReadAsItWasWritten() {
    #expect(SealedPayload(parsing: payload.encoded()) == payload)
  }

  @Test(arguments: ["", "{}", #"{"version":2,"print":"a","password":"YQ=="}"#, #"{"version":1,"password":"YQ=="}"#])
  func anythingElseIsNotRead(_ text: String) {
    #expect(SealedPayload(parsing: Array(text.utf8)) == nil)
  }

  @Test func aPasswordThatWasChangedSinceIsForgotten() {
    #expect(payload.verdict(present: print) == .handOut(payload.password))
    #expect(payload.verdict(present: String(repeating: "b", count: 64)) == .forget)
  }
}
