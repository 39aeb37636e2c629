import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct KnownAddressesTests {
  @Test func eachAuthorityHasItsOwnAddress() throws {
    let addresses = KnownAddresses(configured: nil)
    for _ in 0..<2 {
      #expect(addresses.address(authority: "a.example")?.url.origin == "https://a.example")
      #expect(addresses.address(authority: "b.example:8443")?.url.origin == "https://b.example:8443")
      #expect(addresses.address(authority: "user@a.example") == nil)
      #expect(addresses.address(authority: nil) == nil)
    }
  }

  @Test func aConfiguredAddressIsEveryRequests() throws {
    let addresses = KnownAddresses(configured: try ServerURL("https://sign-in.example/base"))
    for authority in ["sign-in.example", "other.example", nil] {
      #expect(addresses.address(authority: authority)?.url.origin == "https://sign-in.example")
    }
  }

  @Test func anyNumberOfAuthoritiesAreReadRightly() throws {
    let addresses = KnownAddresses(configured: nil)
    for number in (0..<100).flatMap({ [$0, 0] }) {
      let address = try #require(addresses.address(authority: "host-\(number).example"))
      #expect(address.signedURIs("/x").first == "https://host-\(number).example/x")
    }
  }
}
