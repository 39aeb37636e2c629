import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Bad input from phones and impostors. The refusal is clear, and nothing changes.
@Suite struct BadPhoneInputTests {
  private static let routes = [
    DeviceRoute.register, DeviceRoute.requests, DeviceRoute.answer, DeviceRoute.presence, DeviceRoute.status,
    DeviceRoute.credential, DeviceRoute.end, DeviceRoute.unregister,
  ]

  /// Routes with the purpose that belongs to each.
  private static let asks: [([String], DevicePurpose)] = [
    (DeviceRoute.requests, .requests), (DeviceRoute.presence, .leave), (DeviceRoute.status, .status),
    (DeviceRoute.credential, .credential), (DeviceRoute.end, .end), (DeviceRoute.unregister, .unregister),
  ]

  private static let shapes = [
    "", "null", "[]", "{}", "\"x\"", "{", "{\"statement\":{}}", "{\"statement\":[],\"signature\":\"AA==\"}",
    "{\"statement\":{\"device\":7},\"signature\":\"AA==\"}", "{\"code\":7,\"public_key\":{}}",
    "{\"statement\":{},\"statement\":{},\"signature\":\"AA==\"}", "\u{0}", "{\"code\":\"\",\"public_key\":\"\"}",
  ]

  private func waiting() async throws -> (Fixture, TestPhone, StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    return (fixture, phone, try await fixture.started("alice"))
  }

  private func assertUnchanged(_ fixture: Fixture, _ phone: TestPhone, _ session: StartedSession) async throws {
    #expect(try await fixture.status(of: session).status == .pending)
    let status = try DeviceStatusReply(parsing: try await phone.status().body)
    #expect(status.presence == .present)
    #expect(status.methods == [.acceptance])
  }

  @Test(arguments: routes) func aBodyOfTheWrongShapeIsABadRequest(_ route: [String]) async throws {
    let (fixture, phone, session) = try await waiting()
    for shape in Self.shapes {
      let reply = await fixture.respond(TestPhone.request(route, Array(shape.utf8)))
      #expect(reply.status == 400, "\(shape)")
      #expect(reply.reason == "BAD_REQUEST", "\(shape)")
    }
    try await assertUnchanged(fixture, phone, session)
  }

  /// The signed text is kept for 400 days.
  @Test func anAnswerThatIsLongerThanAnyTrueOneIsRefused() async throws {
    let (fixture, phone, session) = try await waiting()
    let request = try #require(try await phone.list().first)
    func reply(padding: Int) async throws -> ServiceReply {
      guard case .object(let members) = phone.statement(.approve, to: request).json else { throw Fixture.NotStarted() }
      let statement = JSON.object(members + [JSON.Member("padding", .string(String(repeating: "x", count: padding)))])
      return try await phone.send(DeviceRoute.answer, statement)
    }
    let refused = try await reply(padding: KeptAnswer.greatestLength)
    #expect(refused.status == 400)
    #expect(refused.reason == "ANSWER_TOO_LONG")
    #expect(try await fixture.status(of: session).status == .identifying)
    #expect(try await reply(padding: KeptAnswer.greatestLength / 2).status == 200)
  }

  @Test(arguments: routes) func aPhonesRouteIsPosted(_ route: [String]) async throws {
    let (fixture, _, _) = try await waiting()
    let request = ServiceRequest(
      method: "GET", target: "/" + route.joined(separator: "/"), authority: Fixture.authority)
    #expect(await fixture.respond(request).status == 405)
  }

  @Test(arguments: asks) func aStatementFromAnotherTimeIsRefused(_ route: [String], _ purpose: DevicePurpose)
    async throws
  {
    let (fixture, phone, session) = try await waiting()
    for offset in [-301, 301] as [Int64] {
      let ask = DeviceAsk(
        origin: Fixture.origin, device: phone.device, purpose: purpose,
        timestamp: fixture.clock.now.seconds + offset, nonce: "n\(offset)")
      let reply = try await phone.send(route, ask.json)
      #expect(reply.status == 401)
      #expect(reply.reason == "TIMESTAMP_OUTSIDE_WINDOW")
    }
    try await assertUnchanged(fixture, phone, session)
  }

  @Test(arguments: asks) func aStatementForAnotherServiceIsRefused(_ route: [String], _ purpose: DevicePurpose)
    async throws
  {
    let (fixture, phone, session) = try await waiting()
    let body = try phone.askBody(purpose, origin: "https://elsewhere.test")
    #expect(await fixture.respond(TestPhone.request(route, body)).reason == "WRONG_ORIGIN")
    try await assertUnchanged(fixture, phone, session)
  }

  @Test(arguments: asks) func aStatementByAnotherKeyIsRefused(_ route: [String], _ purpose: DevicePurpose)
    async throws
  {
    let (fixture, phone, session) = try await waiting()
    let thief = TestPhone(fixture: fixture, key: try DeviceKey.generate(), device: phone.device)
    let reply = await fixture.respond(TestPhone.request(route, try thief.askBody(purpose)))
    #expect(reply.status == 401)
    #expect(reply.reason == "SIGNATURE_REFUSED")
    try await assertUnchanged(fixture, phone, session)
  }

  @Test(arguments: asks) func anUnknownPhoneIsRefused(_ route: [String], _ purpose: DevicePurpose) async throws {
    let (fixture, phone, session) = try await waiting()
    let stranger = TestPhone(fixture: fixture, key: phone.key, device: "00000000000000000000000000000000")
    let reply = await fixture.respond(TestPhone.request(route, try stranger.askBody(purpose)))
    #expect(reply.status == 401)
    #expect(reply.reason == "UNKNOWN_DEVICE")
    try await assertUnchanged(fixture, phone, session)
  }

  /// Even if another part of the signed text is malformed: the nonce is used up first.
  @Test(arguments: asks) func aStatementIsTakenOnce(_ route: [String], _ purpose: DevicePurpose) async throws {
    let (fixture, phone, _) = try await waiting()
    let body = try phone.askBody(purpose)
    _ = await fixture.respond(TestPhone.request(route, body))
    let second = await fixture.respond(TestPhone.request(route, body))
    #expect([401, 403].contains(second.status))
    #expect(["NONCE_REPLAYED", "DEVICE_CUT_OFF"].contains(second.reason))
  }

  @Test(arguments: asks) func aStatementIsNotReplayedAfterARestart(_ route: [String], _ purpose: DevicePurpose)
    async throws
  {
    let (fixture, phone, _) = try await waiting()
    let body = try phone.askBody(purpose)
    _ = await fixture.respond(TestPhone.request(route, body))
    let second = try await fixture.restarted().respond(to: TestPhone.request(route, body))
    #expect(["NONCE_REPLAYED", "DEVICE_CUT_OFF"].contains(second.reason))
  }

  @Test(arguments: ["", String(repeating: "n", count: 65)])
  func aNonceHasBounds(_ nonce: String) async throws {
    let (fixture, phone, session) = try await waiting()
    let body = try phone.askBody(.leave, nonce: nonce)
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.presence, body)).status == 400)
    try await assertUnchanged(fixture, phone, session)
  }

  @Test func anAnswerWithoutARequestIsNotFound() async throws {
    let (fixture, phone, session) = try await waiting()
    let request = OpenRequest(
      session: "invented", nonce: "n", expires: fixture.clock.now.seconds + 60, secondsLeft: 60,
      context: SignInContext())
    let reply = try await phone.answer(.approve, to: request)
    #expect(reply.status == 404)
    #expect(reply.reason == "UNKNOWN_REQUEST")
    try await assertUnchanged(fixture, phone, session)
  }

  @Test func anAnswerIsReplayedInVain() async throws {
    let (fixture, phone, session) = try await waiting()
    let body = try phone.answerBody(.approve, to: try #require(try await phone.list().first))
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.answer, body)).status == 200)
    _ = try await fixture.logOut(session)
    let replayed = await fixture.respond(TestPhone.request(DeviceRoute.answer, body))
    #expect(replayed.status == 409)
    #expect(try await fixture.status(of: session).status == .closed)
  }

  @Test(arguments: DeviceAnswer.allCases) func noAnswerIsTakenLate(_ answer: DeviceAnswer) async throws {
    let (fixture, phone, session) = try await waiting()
    let request = try #require(try await phone.list().first)
    fixture.clock.advance(seconds: 60)
    #expect(try await phone.answer(answer, to: request).reason == "TOO_LATE")
    #expect(try await fixture.status(of: session).status == .timeout)
    // A refused answer blocks nothing, late or not.
    _ = try await fixture.started("alice")
  }

  @Test(arguments: DeviceAnswer.allCases) func noAnswerOfAnotherPhoneIsTaken(_ answer: DeviceAnswer) async throws {
    let (fixture, phone, session) = try await waiting()
    let other = try await TestPhone.registered(in: fixture, user: "mallory")
    let request = try #require(try await phone.list().first)
    #expect(try await other.answer(answer, to: request).status == 404)
    #expect(try await fixture.status(of: session).status == .identifying)
  }

  @Test func anUnknownAnswerIsABadRequest() async throws {
    let (fixture, phone, _) = try await waiting()
    let request = try #require(try await phone.list().first)
    guard case .object(let members) = phone.statement(.approve, to: request).json else { return }
    let odd = members.map { $0.name == "answer" ? JSON.Member("answer", .string("maybe")) : $0 }
    #expect(try await phone.send(DeviceRoute.answer, .object(odd)).status == 400)
    #expect(try await fixture.service.storage.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM answer") } == 0)
  }

  @Test func aReplacedPhoneAnswersNothing() async throws {
    let (fixture, phone, _) = try await waiting()
    let request = try #require(try await phone.list().first)
    _ = try await TestPhone.registered(in: fixture, lost: true)
    let reply = try await phone.answer(.approve, to: request)
    #expect(reply.status == 403)
    #expect(reply.reason == "DEVICE_CUT_OFF")
  }

  @Test func markupInNamesAndContextIsText() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let script = "<script>alert(1)</script>\"'&"
    let context = SignInContext(host: script, command: script, further: [.init(name: "to", value: script)])
    _ = try await fixture.started("alice", context: context)
    #expect(try await phone.list().first?.context == context)
  }

  @Test(arguments: [
    #"{"context":[]}"#, #"{"context":null}"#, #"{"context":{"host":1}}"#, #"{"context":{"<b>":"x"}}"#, "[]", "{",
    #"{"context":{"host ":"x"}}"#, #"{"context":{" host":"x"}}"#,
    "{\"context\":{\"to\":\"\(String(repeating: "x", count: 1_001))\"}}", #"{"context":{"command_end":"x"}}"#,
    "{\"context\":{" + (1...11).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}}",
  ])
  func aContextThatCannotBeShownStartsNothing(_ body: String) async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let target = "/authentication/authenticate_user/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("POST", target, Array(body.utf8)))
    #expect(reply.status == 400)
    #expect(reply.reason == "BAD_REQUEST")
    #expect(try await phone.list().isEmpty)
  }
}
