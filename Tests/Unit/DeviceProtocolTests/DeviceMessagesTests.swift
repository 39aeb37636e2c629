import DeviceProtocol
import IAMPASSProtocol
import Testing

/// Each side reads what the other writes.
@Suite struct DeviceMessagesTests {
  private let context = SignInContext(host: "web-1", service: "sudo", user: "alice")
  private let ask = DeviceAsk(
    origin: "https://iampass.test", device: "d", purpose: .end, timestamp: 1_800_000_000, nonce: "n")
  private let credential = UnverifiedCredential(
    id: [1, 2, 255], publicKey: "key", authenticatorData: [3], clientData: Array("{}".utf8))

  /// The message as transmitted.
  private func received(_ json: JSON) throws -> JSON { try JSON(parsing: json.encoded()) }

  @Test func aRegistrationWithACredentialIsReadAsWritten() throws {
    let request = RegisterRequest(code: Secret("c"), publicKey: "key", credential: credential)
    #expect(try RegisterRequest(parsing: request.encoded()) == request)
  }

  @Test func aRegistrationNeedsNoCredential() throws {
    let request = try RegisterRequest(parsing: Array(#"{"code":"c","public_key":"key","credential":null}"#.utf8))
    #expect(request == RegisterRequest(code: Secret("c"), publicKey: "key"))
  }

  @Test func aCredentialOfAWrongFormIsNotLeftOut() {
    #expect(throws: MessageError.member("id")) {
      try RegisterRequest(parsing: Array(#"{"code":"c","public_key":"key","credential":{"id":"="}}"#.utf8))
    }
  }

  @Test func aRegistrationsReplyIsReadAsWritten() throws {
    let reply = RegisterReply(device: "d", application: "shop", user: "Alice", methods: [.acceptance, .device])
    #expect(try RegisterReply(parsing: reply.encoded()) == reply)
  }

  @Test func aReplyWithoutMethodsMeansATap() throws {
    let reply = try RegisterReply(parsing: Array(#"{"device":"d","application":"a","user":"u"}"#.utf8))
    #expect(reply.methods == [.acceptance])
  }

  @Test(arguments: [true, false])
  func aStatusIsReadAsWritten(_ walksAway: Bool) throws {
    let session = LiveSession(session: "s", status: .walkaway, since: 1, expires: 2, context: context)
    let reply = DeviceStatusReply(
      application: "shop", user: "Alice", presence: .away, sessions: [session], methods: [.acceptance, .device],
      walksAway: walksAway)
    #expect(try DeviceStatusReply(parsing: reply.encoded()) == reply)
  }

  @Test func theSessionsOfAnOldServiceLeaveWithTheirPhone() throws {
    let text = #"{"application":"a","user":"u","presence":"present","sessions":[]}"#
    #expect(try DeviceStatusReply(parsing: Array(text.utf8)).walksAway)
  }

  @Test func anOpenRequestIsReadAsWritten() throws {
    let request = OpenRequest(
      session: "s", nonce: "n", expires: 1, secondsLeft: 60, context: context, method: .device, asksCode: true,
      credential: "AQL_", blocked: 3)
    #expect(try RequestsReply(parsing: RequestsReply(requests: [request]).encoded()).requests == [request])
  }

  @Test func anOpenRequestOfAnOldServiceWantsATapAndNoCode() throws {
    let text = #"{"requests":[{"session":"s","nonce":"n","expires":1,"seconds_left":2,"context":{}}]}"#
    let request = try #require(try RequestsReply(parsing: Array(text.utf8)).requests.first)
    #expect(request.method == .acceptance)
    #expect(!request.asksCode)
  }

  @Test func anAnswerIsReadAsWritten() throws {
    for answer in DeviceAnswer.allCases {
      let statement = AnswerStatement(
        origin: "o", device: "d", session: "s", answer: answer, contextHash: "h", nonce: "n", expires: 1,
        method: .device, code: "07")
      #expect(try AnswerStatement(try received(statement.json)) == statement)
    }
  }

  @Test func anAnswerOfAnOldPhoneIsATapWithoutCode() throws {
    let text = """
      {"origin":"o","device":"d","session":"s","answer":"approve","context_hash":"h","nonce":"n","expires":1,\
      "purpose":"answer"}
      """
    let answer = try AnswerStatement(try JSON(parsing: Array(text.utf8)))
    #expect(answer.method == .acceptance)
    #expect(answer.code.isEmpty)
  }

  @Test func anEndIsReadAsWritten() throws {
    let statement = EndStatement(ask: ask, sessions: ["a", "b"])
    #expect(try EndStatement(try received(statement.json)) == statement)
  }

  @Test(arguments: [0, 51])
  func anEndNamesOneToFiftySessions(_ count: Int) throws {
    let json = EndStatement(ask: ask, sessions: Array(repeating: "a", count: count)).json
    #expect(throws: MessageError.member("sessions")) { try EndStatement(json) }
  }

  @Test func aLaterCredentialIsReadAsWritten() throws {
    let statement = CredentialStatement(ask: ask, credential: credential)
    #expect(try CredentialStatement(try received(statement.json)) == statement)
  }

  @Test func aPushSubscriptionIsReadAsWritten() throws {
    let subscription = UnverifiedPushSubscription(endpoint: "https://push.test/1", p256dh: "B", auth: Secret("x"))
    let token = UnverifiedAppToken(service: .apple, token: Secret("0a1b"))
    for way in [.browser(subscription), .app(token), nil] as [PushWay?] {
      let statement = PushStatement(ask: ask, way: way)
      #expect(try PushStatement(try received(statement.json)) == statement)
    }
  }

  @Test func aPushSubscriptionIsNotForgottenBySilence() {
    #expect(throws: MessageError.member("subscription")) { try PushStatement(ask.json) }
  }

  @Test func anAssertionTravelsBesideTheSignature() throws {
    let assertion = UnverifiedAssertion(authenticatorData: [1], clientData: [2], signature: [3, 255])
    let body = try UnverifiedStatement.body(signing: ask.json, with: try DeviceKey.generate(), assertion: assertion)
    #expect(try UnverifiedStatement(parsing: body).assertion == assertion)
  }

  @Test(arguments: [([], ""), ([255], "_w"), ([251, 255], "-_8"), ([0, 0, 0], "AAAA")] as [([UInt8], String)])
  func base64URLIsThatOfWebAuthn(_ bytes: [UInt8], _ text: String) {
    #expect(Base64URL.encode(bytes) == text)
    #expect(Base64URL.decode(text) == bytes)
  }

  @Test(arguments: ["_w==", "/w", "A", "_x", " _w", "é"])
  func base64URLIsStrict(_ text: String) { #expect(Base64URL.decode(text) == nil) }

  /// The numbers that a browser computes too: they are part of the protocol.
  @Test func theChallengeOfACredentialIsItsText() {
    let expected = Digest.sha256(Array("iampass credential 1\nabc\nKEY".utf8))
    #expect(CredentialChallenge.bytes(for: Secret("abc"), publicKey: "KEY") == expected)
  }
}
