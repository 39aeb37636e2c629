import CommandSupport
import Testing

@testable import ServerCommands

struct ListenAddressTests {
  @Test(arguments: [
    ("127.0.0.1:8443", "127.0.0.1", 8443, true), ("[::1]:443", "::1", 443, true), ("localhost:0", "localhost", 0, true),
    ("0.0.0.0:443", "0.0.0.0", 443, false), ("[2001:db8::7]:443", "2001:db8::7", 443, false),
  ])
  func hasHostPortAndWhoCanConnect(text: String, host: String, port: Int, isLoopback: Bool) throws {
    let address = try ListenAddress(text)
    #expect(address.host == host)
    #expect(address.port == port)
    #expect(address.isLoopback == isLoopback)
  }

  @Test(arguments: ["", ":443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:443", "[]:443", "host:-1"])
  func anythingElseIsRefused(text: String) {
    #expect(throws: CommandProblem.self) { try ListenAddress(text) }
  }

  @Test func aBrowserIsSentToANameThatItCanOpen() throws {
    #expect(try ListenAddress("[::]:0").usualURL(port: 8443) == "https://localhost:8443")
    #expect(try ListenAddress("[::1]:0").usualURL(port: 8443) == "https://[::1]:8443")
  }
}
