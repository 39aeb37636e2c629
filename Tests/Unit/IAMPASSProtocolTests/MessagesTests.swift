import IAMPASSProtocol
import Testing

@Suite struct MessagesTests {
  private func status(_ text: String) throws -> StatusReply { try StatusReply(parsing: Array(text.utf8)) }

  @Test(arguments: [
    #"{"session_status":"active","authenticated":true,"reason":null}"#,
    #"{"authentication_status":{"session_status":"active","authenticated":true}}"#,
    #"{"session_status":"active","authentication_status":{"session_status":"active","authenticated":true}}"#,
  ])
  func readsBothShapesOfTheStatus(_ text: String) throws {
    #expect(try status(text) == StatusReply(status: .active, authenticated: true, reason: nil))
  }

  @Test(arguments: [
    #"{"session_status":"pending","authentication_status":{"session_status":"active"}}"#,
    #"{"session_status":"active","authenticated":false,"authentication_status":{"session_status":"active","authenticated":true}}"#,
    #"{"session_status":1}"#, #"{"session_status":["active"]}"#, #"{"session_status":null}"#, #"["active"]"#, "{}",
    #"{"session_status":"active","authenticated":"true"}"#, #"{"session_status":"pending","session_status":"active"}"#,
    #"{"authentication_status":"active"}"#,
  ])
  func refusesAStatusThatIsNotOne(_ text: String) {
    #expect(throws: MessageError.self) { try status(text) }
  }

  @Test(arguments: ["Active", "active ", "ACTIVE", "maybe", ""])
  func onlyTheExactWordIsActive(_ word: String) throws {
    let reply = try status(#"{"session_status":"\#(word)"}"#)
    #expect(reply.status == .unknown(word))
    #expect(!reply.status.isLive)
  }

  @Test func aWrittenStatusReadsBack() throws {
    let reply = StatusReply(status: .walkaway, authenticated: true, reason: "x")
    #expect(try StatusReply(parsing: reply.encoded()) == reply)
  }

  @Test func aWrittenStartReadsBack() throws {
    let session = StartedSession(
      status: .pending, statusURL: "https://h/s", logoutURL: "https://h/l", token: Secret("t"), secret: Secret("s"),
      matchCode: "47", phonePage: "https://h/phone/")
    #expect(try StartReply(parsing: StartReply.started(session).encoded()) == .started(session))
    #expect(
      try StartReply(parsing: StartReply.notStarted(reason: "NO_MOBILE_DEVICE").encoded())
        == .notStarted(reason: "NO_MOBILE_DEVICE"))
  }

  @Test func aManagementReplyWithStatusFalseIsARefusal() {
    #expect(throws: MessageError.refused(reason: "no")) {
      try AddUsersReply(parsing: Array(#"{"status":false,"reason":"no"}"#.utf8))
    }
  }

  @Test func aNameThatEndsInASpaceIsReadAndNotAskedWith() throws {
    let context = SignInContext(host: "web-1", further: [.init(name: "host ", value: "db-server")])
    #expect(try SignInContext(context.json) == context)
    #expect(throws: MessageError.member("context")) {
      try StartRequest(parsing: StartRequest(context: context).encoded())
    }
  }

  @Test func contextArrivesAsItWasSent() throws {
    let context = SignInContext(host: "a\u{1B}[2J\u{202E}", command: String(repeating: "x", count: 1_000))
    let read = try StartRequest(parsing: StartRequest(context: context).encoded()).context
    #expect(read?.json.encoded() == context.json.encoded())
  }

  @Test func theBootIsReadWithAContextAndWithoutOne() throws {
    for context in [nil, SignInContext(host: "web-1")] {
      let request = StartRequest(context: context, bootID: "b1")
      #expect(try StartRequest(parsing: request.encoded()) == request)
    }
  }

  @Test(arguments: [#"{"boot_id":7}"#, #"{"boot_id":""}"#, #"{"boot_id":"\#(String(repeating: "x", count: 65))"}"#])
  func aBootThatCannotBeOneIsRefused(_ body: String) {
    #expect(throws: MessageError.member("boot_id")) { try StartRequest(parsing: Array(body.utf8)) }
  }
}
