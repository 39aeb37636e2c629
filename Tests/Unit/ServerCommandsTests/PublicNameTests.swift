import Testing

@testable import ServerCommands

@Suite struct PublicNameTests {
  @Test(arguments: ["iampass.example.org", "localhost", "xn--bcher-kva.example", "a-1.b2"])
  func namesAreTaken(_ text: String) { #expect(PublicName(text)?.text == text) }

  @Test func lettersAreMadeSmall() { #expect(PublicName("IAMPASS.Example.Org")?.text == "iampass.example.org") }

  @Test(arguments: [
    "", ".", "a..b", "a.", "-a.example", "a-.example", "https://a.example", "a.example/", "a b", "a_b", "a:443",
    "bücher.example",
    "*.example.org", "10.0.0", "a.1", "[a.example]", String(repeating: "a", count: 64),
    String(repeating: "abcdefg.", count: 32) + "org",
  ])
  func othersAreRefused(_ text: String) { #expect(PublicName(text) == nil) }

  @Test func addressesAreKnownAsSuch() throws {
    #expect(try #require(PublicName("192.0.2.7")).isAddress)
    let six = try #require(PublicName("[2001:DB8::7]"))
    #expect(six.isAddress && six.text == "2001:db8::7" && six.urlHost == "[2001:db8::7]")
    #expect(try !#require(PublicName("localhost")).isAddress)
  }
}
