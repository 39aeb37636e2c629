import IAMPASSProtocol
import NIOHTTP1
import Testing

@testable import IAMPASSServer

/// A target in absolute form names its own authority. The service never sees that authority.
@Suite struct FramingTests {
  private func isTaken(_ target: String, host: String, publicURL: String? = nil) throws -> Bool {
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: ["Host": host])
    return head.isFor(try publicURL.map { try ServerURL($0) })
  }

  @Test func aTargetWithoutAnAuthorityIsTaken() throws {
    for target in ["/", "/authentication/session_status/1?a=b", "/x?next=https://elsewhere.test/"] {
      #expect(try isTaken(target, host: "iampass.test"), "\(target)")
    }
  }

  @Test func aTargetOfThisAuthorityIsTaken() throws {
    for target in ["https://iampass.test/healthz", "HTTPS://IAMPASS.test/healthz", "https://iampass.test?a"] {
      #expect(try isTaken(target, host: "iampass.test"), "\(target)")
      #expect(try isTaken(target, host: "iampass.test", publicURL: "https://iampass.test"), "\(target)")
    }
    #expect(
      try isTaken("https://iampass.test:443/", host: "iampass.test:443", publicURL: "https://iampass.test/base"))
  }

  @Test(
    arguments: [
      "https://elsewhere.test/healthz", "https://iampass.test.elsewhere.test/", "https://iampass.test:8443/",
      "https://user@iampass.test/", "http://iampass.test/healthz", "ftp://iampass.test/", "iampass.test:443", "*", "",
      "healthz", "x:/healthz",
    ])
  func aTargetOfAnotherAuthorityIsRefused(_ target: String) throws {
    #expect(try !isTaken(target, host: "iampass.test"))
  }

  @Test func theHostHeaderDoesNotMakeAnotherAuthorityThisService() throws {
    #expect(try isTaken("https://elsewhere.test/", host: "elsewhere.test"))
    #expect(try !isTaken("https://elsewhere.test/", host: "elsewhere.test", publicURL: "https://iampass.test"))
  }
}
