import IAMPASSProtocol
import Testing

@Suite struct ServerURLTests {
  @Test(arguments: [
    "https://ok.example:8443@evil/s", "//evil/s", "https://ok.example.evil/s", "https://ok.example/s", "s",
    "http://ok.example:8443/s", "https://ok.example:8444/s", "https://ok.example:8443\r\nX: y/s",
    "https://оk.example:8443/",
    "/a/../b", "/a/%2E%2e/b", "https://ok.example:8443\\@evil/", "", "file:///etc/passwd", "/ a",
    "https://ok.example:8443#",
    "https://ok.example:8443/a/../b", "https://ok.example:8443/%2e%2E", "https://ok.example:8443/ a",
    "https://ok.example:8443/é", "https://ok.example:8443/#",
    "https://ok.example:8443/" + String(repeating: "a", count: 3_000),
    "https://[ok.example:8443/", "https://ok.example:99999/", "/" + String(repeating: "a", count: 3_000),
  ])
  func refusesAnAddressThatIsNotTheServices(_ address: String) throws {
    let server = try ServerURL("https://ok.example:8443")
    #expect(throws: AddressError.self) { try server.ownAddress(address) }
  }

  /// A signature over such an address could cover only its end.
  @Test(arguments: ["https://h", "", "https://H"])
  func refusesASecondMarker(_ origin: String) throws {
    let server = try ServerURL("https://h")
    for target in ["/status?x=://h/logout", "/a://b", "/http://h/"] {
      #expect(throws: AddressError.notAnAddress) { try server.ownAddress(origin + target) }
    }
    #expect(throws: AddressError.notAnAddress) { try ServerURL("https://h/a://b") }
    #expect(try server.ownAddress(origin + "/status?x=%3A%2F%2Fh").hasSuffix("/status?x=%3A%2F%2Fh"))
  }

  @Test func takesItsOwnAddressAndAPathFromItsRoot() throws {
    let server = try ServerURL("https://OK.example/base/")
    #expect(try server.ownAddress("https://ok.example:443/s?a=b") == "https://ok.example:443/s?a=b")
    #expect(try server.ownAddress("/s/1") == "https://ok.example/s/1")
    #expect(
      server.route(["management", "add_users", "a b+c/é"])
        == "https://ok.example/base/management/add_users/a%20b%2Bc%2F%C3%A9")
  }

  @Test(arguments: [
    "http://example.com", "http://10.0.0.1", "http://127.0.0.1.evil", "http://localhost.evil", "http://localhost",
  ])
  func plainHTTPIsForLoopbackOnly(_ address: String) {
    #expect(throws: AddressError.notHTTPS) { try ServerURL(address) }
  }

  @Test(arguments: ["http://127.0.0.1:8080", "http://[::1]:80"])
  func plainHTTPReachesLoopback(_ address: String) throws {
    #expect(!(try ServerURL(address).isEncrypted))
  }

  @Test(arguments: ["ftp://x", "x", "https://", "https://a b", "https://u@h", "https://h?x"])
  func refusesWhatIsNotAServer(_ address: String) {
    #expect(throws: AddressError.self) { try ServerURL(address) }
  }

  @Test func sanitizedTextHasNoControlOrBidirectionalMarks() {
    #expect(DisplayText.sanitized("a\u{1B}[31m\u{9B}\n\u{2028}\u{2066}b%n") == "a?[31m????b%n")
    #expect(DisplayText.sanitized(String(repeating: "x", count: 500)).count == DisplayText.greatestLength)
  }
}
