import Testing

@testable import HostSystem
@testable import LoginModule
@testable import WorkerLink

/// If the user must open the phone's page by hand, the terminal shows its address.
@Suite struct PhonePageLineTests {
  private func scene(page: String, code: String? = nil, answers: [String?] = []) throws -> SignInFixture {
    let more = #""phone_page":\#(page),"# + (code.map { #""match_code":"\#($0)","# } ?? "")
    let body = ScriptedTransport.started.replacing(#""session_token""#, with: more + #""session_token""#)
    return try SignInFixture([.start(202, body), .status(200, ScriptedTransport.word("active"))], answers: answers)
  }

  @Test func theLineNamesThePage() throws {
    let scene = try scene(page: #""https://iam.example/phone/""#)
    #expect(try scene.isApproved())
    #expect(scene.terminal.shown == ["Approve the sign-in on your phone (https://iam.example/phone/)"])
  }

  @Test func theCodeComesLast() throws {
    let scene = try scene(page: #""/phone/""#, code: "47")
    #expect(try scene.isApproved())
    #expect(scene.terminal.shown == ["Approve the sign-in on your phone (https://iam.example/phone/): code 47"])
  }

  /// GNOME's greeter shows the last line alone.
  @Test func theCodeStandsInEachLaterLine() throws {
    let body = ScriptedTransport.started.replacing(#""session_token""#, with: #""match_code":"47","session_token""#)
    let scene = try SignInFixture([
      .start(202, body), .status(200, ScriptedTransport.word("identifying")), .status(503, ""),
      .status(200, ScriptedTransport.word("active")),
    ])
    #expect(try scene.isApproved())
    #expect(
      scene.terminal.shown == [
        "Approve the sign-in on your phone: code 47", "Your phone has the request: code 47",
        "waiting for the server… (code 47)",
      ])
  }

  @Test func inSSHThePromptNamesIt() throws {
    var scene = try scene(page: #""https://iam.example/phone/""#, code: "47", answers: [""])
    scene.request.service = "sshd"
    scene.policy.prompt = .push
    #expect(try scene.isApproved())
    #expect(
      scene.terminal.asked == ["Code 47: approve on your phone (https://iam.example/phone/), then press Enter: "])
  }

  @Test func aProgramThatShowsPromptsAloneHasItInOne() throws {
    var scene = try scene(page: #""/phone/""#, code: "47", answers: [""])
    scene.request.hostShows = .prompts
    #expect(try scene.isApproved())
    #expect(
      scene.terminal.asked == ["Code 47: approve on your phone (https://iam.example/phone/), then press Enter: "])
  }

  /// The sign-in goes on without showing it.
  @Test(arguments: [
    #""https://elsewhere.example/phone/""#, #""http://iam.example/phone/""#, #""https://iam.example:8443/phone/""#,
    #""https://iam.example@elsewhere.example/""#, #""//elsewhere.example/""#, #""https://iam.example/\u001b[2J""#,
    #""https://iam.example/\u202egro""#, #""https://iam.example/a b""#, #""https://iam.example/../x""#, #""""#, "7",
    "null", "{}", "[]", "true", #""https://iam.example/\#(String(repeating: "x", count: 200))""#,
  ])
  func onlyAShortAddressOfTheServiceIsShown(_ page: String) throws {
    let scene = try scene(page: page)
    #expect(try scene.isApproved())
    #expect(scene.terminal.shown == ["Approve the sign-in on your phone"])
  }
}
