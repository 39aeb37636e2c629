import Testing

@testable import ServerCommands

struct ServeBoundsTests {
  private static let needed = [
    "--data", "/nowhere", "--listen", "127.0.0.1:0", "--tls-cert", "/nowhere/cert.pem", "--tls-key", "/nowhere/key.pem",
  ]

  @Test(arguments: [
    ["--drain-delay", "60"], ["--keep-answers", "62"], ["--keep-answers", "3650"], ["--keep-audit", "7"],
    ["--longest-wait", "0"],
  ])
  func takesWhatIsInBounds(_ option: [String]) throws {
    _ = try Serve.parse(Self.needed + option)
  }

  @Test(arguments: [
    ["--drain-delay", "61"], ["--keep-answers", "61"], ["--keep-answers", "3651"], ["--keep-audit", "6"],
    ["--keep-audit", "3651"], ["--longest-wait", "61"],
  ])
  func refusesWhatIsNot(_ option: [String]) {
    #expect(throws: (any Error).self) { try Serve.parse(Self.needed + option) }
  }
}
