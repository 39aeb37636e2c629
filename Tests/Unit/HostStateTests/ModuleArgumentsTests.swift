import HostState
import Testing

@Suite struct ModuleArgumentsTests {
  @Test func readsEveryWord() throws {
    let arguments = try ModuleArguments([
      "config=/etc/x/iampass.conf", "timeout=1m", "prompt=push", "methods=device,acceptance", "fail=open",
      "password=none", "debug",
    ])
    #expect(arguments.configurationPath == "/etc/x/iampass.conf")
    #expect(arguments.timeout == 60)
    #expect(arguments.prompt == .push)
    #expect(arguments.methods == [.device, .acceptance])
    #expect(arguments.failsOpen && arguments.isDebugging && !arguments.passwordFollows)
    #expect(arguments.unknown == [] && arguments.bad == [])
  }

  @Test func withoutWordsItStaysClosed() throws {
    let arguments = try ModuleArguments([])
    #expect(arguments.configurationPath == Configuration.path)
    #expect(arguments.timeout == nil && arguments.prompt == .auto && arguments.methods == [])
    #expect(!arguments.failsOpen && !arguments.isDebugging && arguments.passwordFollows)
  }

  @Test(arguments: [
    "config", "config=", "config=relative", "timeout", "timeout=", "timeout=4s", "timeout=91s", "timeout=-5",
    "timeout=1e1",
    "prompt", "prompt=", "prompt=Push", "methods", "methods=", "methods=voice", "methods=device,", "fail", "fail=",
    "fail=OPEN",
    "password", "password=", "password=no",
  ])
  func aBadValueRefuses(_ word: String) {
    #expect(throws: Misconfiguration.badArgument(word)) { try ModuleArguments(["debug", word]) }
  }

  @Test(arguments: ["debug=1", "Debug", "quiet", "use_first_pass", ""])
  func anUnknownWordIsKeptForAWarning(_ word: String) throws {
    let arguments = try ModuleArguments([word])
    #expect(arguments.unknown.count == 1)
    #expect(!arguments.isDebugging)
  }

  /// What the doctor judges by: the module refuses before it uses any of it.
  @Test func aBadWordChangesNothingOfTheOthers() {
    let arguments = ModuleArguments(reading: ["timeout=30s", "timeout=0", "config=x", "fail=open", "fail=maybe"])
    #expect(arguments.timeout == 30 && arguments.configurationPath == Configuration.path && arguments.failsOpen)
    #expect(arguments.bad == ["timeout=0", "config=x", "fail=maybe"])
  }

  @Test(arguments: [("5s", 5), ("90s", 90), ("1m", 60)] as [(String, Int64)])
  func aLineAndTheConfigurationHaveTheSameBounds(_ text: String, _ seconds: Int64) throws {
    #expect(try ModuleArguments(["timeout=\(text)"]).timeout == seconds)
    #expect(try Configuration(parsing: Array("approval_timeout = \(text)\n".utf8)).approvalTimeout == seconds)
  }
}
