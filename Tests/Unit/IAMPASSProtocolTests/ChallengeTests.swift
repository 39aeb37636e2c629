import IAMPASSProtocol
import Testing

@Suite struct ChallengeTests {
  private static let challenge = ApprovalChallenge(Array(0..<32))

  private func request(_ members: String) throws -> StartRequest {
    try StartRequest(parsing: Array("{\(members)}".utf8))
  }

  @Test func aStartReadsBack() throws {
    let start = StartRequest(
      context: SignInContext(host: "web-1", command: String(repeating: "x", count: 5_000)),
      challenge: Self.challenge, matchCode: Secret("07"))
    #expect(try StartRequest(parsing: start.encoded()) == start)
  }

  @Test func twoDrawnOnesDiffer() {
    #expect(ApprovalChallenge.draw() != ApprovalChallenge.draw())
    #expect(ApprovalChallenge.draw()?.bytes.count == 32)
  }

  @Test(arguments: [
    #""AAAA""#, #""""#, "7", #""AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8""#, "[]",
    #""AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ==""#,
  ])
  func otherBytesAreRefused(_ value: String) {
    #expect(throws: MessageError.member("challenge")) { try request(#""context":{},"challenge":\#(value)"#) }
  }

  private static let text = #""challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=""#

  @Test func withAChallengeTheContextIsKeptAsItCame() throws {
    #expect(try request(#""context":{"host":"a"},\#(Self.text)"#).challenge == Self.challenge)
    let long = String(repeating: "x", count: 2_000)
    for context in [#"{"host":null}"#, #"{"command":"\#(long)"}"#] {
      #expect(throws: MessageError.member("context")) { try request(#""context":\#(context),\#(Self.text)"#) }
      #expect(throws: Never.self) { try request(#""context":\#(context)"#) }
    }
    #expect(throws: MessageError.member("context")) { try request(Self.text) }
  }

  @Test(arguments: ["7", #""7""#, #""123""#, #""a1""#, #""٣٣""#, "12"])
  func aCodeHasTwoDigits(_ value: String) {
    #expect(throws: MessageError.member("match_code")) {
      try request(#""context":{},\#(Self.text),"match_code":\#(value)"#)
    }
  }

  @Test func aCodeWithoutAChallengeIsRefused() {
    #expect(throws: MessageError.member("match_code")) { try request(#""context":{},"match_code":"12""#) }
  }

  private static let without = #""context":{"host":"a","match_code":"none: the program shows no text"}"#

  @Test func aStartWithoutDigitsReadsBack() throws {
    #expect(try request(Self.without).context?.isWithoutCode == true)
    let start = StartRequest(context: SignInContext(host: "a", isWithoutCode: true), challenge: Self.challenge)
    #expect(try StartRequest(parsing: start.encoded()) == start)
  }

  @Test func digitsAndNoDigitsContradictEachOther() {
    #expect(throws: MessageError.member("match_code")) {
      try request(#"\#(Self.without),\#(Self.text),"match_code":"12""#)
    }
  }

  /// A phone would show it as if it were the computer's word about digits.
  @Test func aStartSaysNothingElseOfDigits() {
    #expect(throws: MessageError.member("context")) { try request(#""context":{"match_code":"47"}"#) }
  }

  @Test func theEchoReadsBack() throws {
    let session = StartedSession(
      status: .pending, statusURL: "https://h/s", logoutURL: "https://h/l", token: Secret("t"), secret: Secret("s"),
      matchCode: "47", challenge: Self.challenge)
    #expect(try StartReply(parsing: StartReply.started(session).encoded()) == .started(session))
  }

  @Test func theApprovalReadsBackAsItCame() throws {
    let approval: JSON = .object(["phone": .string("1"), "statement": .object(["b": .integer(1), "a": .null])])
    let reply = StatusReply(status: .active, authenticated: true, reason: nil, session: "s", approval: approval)
    #expect(try StatusReply(parsing: reply.encoded()) == reply)
  }
}
