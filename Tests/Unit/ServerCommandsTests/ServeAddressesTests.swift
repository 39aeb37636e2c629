import CommandSupport
import Testing

@testable import ServerCommands

@Suite struct ServeAddressesTests {
  private func addresses(console: (listen: String?, url: String?), publicURL: String?) throws -> ServeAddresses {
    try ServeAddresses(listen: "127.0.0.1:8443", metrics: nil, console: console, publicURL: publicURL, proxies: [])
  }

  @Test func onLoopbackTheBrowserSaysTheConsolesName() throws {
    let found = try addresses(console: ("127.0.0.1:9443", nil), publicURL: "https://a.example")
    #expect(found.console?.port == 9443 && found.consoleURL == nil)
    guard case .allButConsole = found.main else {
      Issue.record("the console is at both")
      return
    }
  }

  @Test(
    arguments: [
      ("0.0.0.0:9443", nil, "https://a.example"), ("127.0.0.1:9443", nil, nil),
      ("0.0.0.0:9443", "http://a.example", "https://a.example"),
    ] as [(String, String?, String?)])
  func nothingIsGuessed(_ listen: String, _ url: String?, _ publicURL: String?) {
    #expect(throws: CommandProblem.self) { try addresses(console: (listen, url), publicURL: publicURL) }
  }
}
