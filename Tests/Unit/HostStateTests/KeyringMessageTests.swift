import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem

@Suite struct KeyringMessageTests {
  private let alice = UnixUsername(validating: "alice")!
  private let print = String(repeating: "0", count: ShadowPrint.length)

  private func sealing(_ password: String) -> KeyringRequest {
    KeyringRequest(user: alice, act: .seal(password: Secret(password), print: print))
  }

  @Test(arguments: ["a", "grün und\nso", String(repeating: "x", count: 512)])
  func aRequestIsReadAsItWasWritten(_ password: String) throws {
    let request = sealing(password)
    #expect(KeyringRequest(decoding: try #require(request.encoded())) == request)
    let open = KeyringRequest(user: alice, act: .open)
    #expect(KeyringRequest(decoding: try #require(open.encoded())) == open)
  }

  @Test(arguments: ["", "a\0b", String(repeating: "x", count: 513)])
  func whatPAMCannotCarryIsNotSent(_ password: String) {
    #expect(sealing(password).encoded() == nil)
  }

  @Test func aCutRequestIsNotRead() throws {
    let whole = try #require(sealing("a").encoded())
    for length in 0..<whole.count { #expect(KeyringRequest(decoding: Array(whole.prefix(length))) == nil) }
  }

  @Test func aReplyHasAPasswordOrNone() {
    #expect(KeyringReply.password(decoding: KeyringReply.encoded(Secret("p"))) == Secret("p"))
    for bytes in [KeyringReply.encoded(nil), [], [1], [2, 65], [1, 65, 0]] as [[UInt8]] {
      #expect(KeyringReply.password(decoding: bytes) == nil)
    }
  }
}
