import DeviceProtocol
import IAMPASSProtocol
import JWTKit
import Testing

@testable import IAMPASSServer

/// CIBA in poll mode: what a program asks, and what it gets.
@Suite struct BackchannelTests {
  private func claims(_ reply: ServiceReply, _ office: BackchannelFixture) async throws -> ApprovalToken {
    let token = try #require(try JSON(parsing: reply.body)["id_token"]?.string)
    let keys = await office.fixture.respond(
      ServiceRequest(method: "GET", target: "/.well-known/jwks.json", authority: Fixture.authority))
    return try await JWTKeyCollection().add(jwksJSON: String(decoding: keys.body, as: UTF8.self))
      .verify(token, as: ApprovalToken.self)
  }

  @Test func anApprovalGivesATokenOnce() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started(["binding_message": "pay 7 EUR"])
    #expect(try await office.poll(name).openIDError == "authorization_pending")
    try await office.phone.approveOnly()
    let reply = try await office.poll(name)
    #expect(reply.status == 200)
    #expect(reply.header("Cache-Control") == "no-store")
    let claims = try await claims(reply, office)
    #expect(claims.sub == "alice")
    #expect(claims.aud == office.client.id)
    #expect(claims.azp == office.client.id)
    #expect(claims.iss == Fixture.origin)
    #expect(claims.approvalData.pairs == ["host": "The bank", "message": "pay 7 EUR"])
    #expect(try JSON(parsing: reply.body)["token_type"] == .string("Bearer"))
    #expect(try await office.poll(name).openIDError == "invalid_grant")
  }

  @Test func aProgramThatHasGoneRingsNobody() async throws {
    let office = try await BackchannelFixture()
    let basic = Base64.encode(Array("\(office.client.id):\(office.secret.exposedValue)".utf8))
    let request = ServiceRequest(
      method: "POST", target: "/bc-authorize", authority: Fixture.authority,
      headers: [
        (name: "Content-Type", value: "application/x-www-form-urlencoded"),
        (name: "Authorization", value: "Basic " + basic),
      ], body: Array("scope=openid&login_hint=alice".utf8), hasLeft: { true })
    #expect(await office.service.respond(to: request).status == 503)
    #expect(try await office.phone.list().isEmpty)
    // Otherwise it would have to wait for the first one.
    _ = try await office.started()
  }

  @Test func twoQuestionsAtOnceGetOneToken() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    try await office.phone.approveOnly()
    let codes = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 { group.addTask { try await office.poll(name).status } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.filter { $0 == 200 }.count == 1)
  }

  @Test func thePhoneShowsWhoAsksAndTheMessage() async throws {
    let office = try await BackchannelFixture()
    _ = try await office.started(["binding_message": "W4SCT"])
    let shown = try #require(try await office.phone.list().first).context
    #expect(shown == SignInContext(host: "The bank", further: [.init(name: "message", value: "W4SCT")]))
  }

  @Test func theSessionEndsWithTheToken() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    try await office.phone.approveOnly()
    _ = try await office.poll(name)
    let session = try #require(try await office.fixture.service.storage.session(String(name.prefix { $0 != "." })))
    #expect(session.lifecycle.ending == .loggedOut)
  }

  @Test func askingTooOftenIsSlowedDown() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    #expect(try await office.poll(name).openIDError == "authorization_pending")
    #expect(try await office.poll(name).openIDError == "slow_down")
    office.fixture.clock.advance(seconds: 5)
    #expect(try await office.poll(name).openIDError == "slow_down")
    office.fixture.clock.advance(seconds: 15)
    #expect(try await office.poll(name).openIDError == "authorization_pending")
  }

  @Test(arguments: [(DeviceAnswer.deny, "access_denied"), (.notMe, "access_denied"), (.unable, "access_denied")])
  func aDenialGivesNoToken(_ answer: DeviceAnswer, _ code: String) async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    try await office.phone.answer(answer, to: try #require(try await office.phone.list().first))
    let reply = try await office.poll(name)
    #expect(reply.openIDError == code)
    #expect(reply.status == 400)
  }

  @Test func nobodyAnsweredInTime() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    office.fixture.clock.advance(seconds: 60)
    #expect(try await office.poll(name).openIDError == "expired_token")
  }

  @Test func anApprovalThatNobodyCollectedInTimeIsOver() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    try await office.phone.approveOnly()
    office.fixture.clock.advance(seconds: 30)
    #expect(try await office.poll(name).openIDError == "expired_token")
  }

  @Test(arguments: [("40", 10), ("1", 10), ("60", 30), ("100000", 60)] as [(String, Int64)])
  func theClientMayWantAnEarlierAnswer(_ asked: String, _ seconds: Int64) async throws {
    let office = try await BackchannelFixture()
    let reply = try await office.ask(["requested_expiry": asked])
    #expect(try JSON(parsing: reply.body)["expires_in"] == .integer(seconds + 30))
    let name = try #require(try JSON(parsing: reply.body)["auth_req_id"]?.string)
    office.fixture.clock.advance(seconds: seconds)
    #expect(try await office.poll(name).openIDError == "expired_token")
  }

  @Test func digitsAreShownByTheClient() async throws {
    let office = try await BackchannelFixture(matchCodes: .required)
    #expect(try await office.ask().openIDError == "invalid_request")
    let reply = try await office.ask(["match_code": "1"])
    let code = try #require(try JSON(parsing: reply.body)["match_code"]?.string)
    let name = try #require(try JSON(parsing: reply.body)["auth_req_id"]?.string)
    let request = try #require(try await office.phone.list().first)
    try await office.phone.answer(.approve, to: request, code: code)
    #expect(try await office.poll(name).status == 200)
  }

  @Test func wrongDigitsAreADenial() async throws {
    let office = try await BackchannelFixture(matchCodes: .required)
    let reply = try await office.ask(["match_code": "1"])
    let code = try #require(try JSON(parsing: reply.body)["match_code"]?.string)
    let name = try #require(try JSON(parsing: reply.body)["auth_req_id"]?.string)
    let request = try #require(try await office.phone.list().first)
    try await office.phone.answer(.approve, to: request, code: code == "11" ? "22" : "11")
    #expect(try await office.poll(name).openIDError == "access_denied")
  }

  @Test func aSecondRequestWaitsForTheFirst() async throws {
    let office = try await BackchannelFixture()
    _ = try await office.started()
    let reply = try await office.ask(["binding_message": "another"])
    #expect(reply.status == 403)
    #expect(reply.openIDError == "access_denied")
  }

  @Test(arguments: [Fixture.origin, "https://iampass.test/sign-in"])
  func theAddressesAgreeWithTheIssuer(_ base: String) async throws {
    var office = try await BackchannelFixture()
    let name = try await office.started()
    try await office.phone.approveOnly()
    office.service = try office.fixture.restarted(publicURL: base)
    let reply = await office.service.respond(
      to: ServiceRequest(method: "GET", target: "/.well-known/openid-configuration", authority: Fixture.authority))
    #expect(try await claims(try await office.poll(name), office).iss == base)
    let told = try JSON(parsing: reply.body)
    #expect(told["issuer"] == .string(base))
    #expect(told["jwks_uri"] == .string(base + "/.well-known/jwks.json"))
    #expect(told["token_endpoint"] == .string(base + "/token"))
    #expect(told["backchannel_authentication_endpoint"] == .string(base + "/bc-authorize"))
  }
}
