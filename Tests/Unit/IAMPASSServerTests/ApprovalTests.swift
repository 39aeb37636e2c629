import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Requests with a challenge, and the approvals that their computers verify.
@Suite struct ApprovalTests {
  private static let challenge = ApprovalChallenge(Array(100..<132))!
  private static let other = ApprovalChallenge(Array(101..<133))!

  private func waiting(
    matchCode: Secret? = nil, context: SignInContext = SignInContext(host: "web-1")
  ) async throws -> (Fixture, TestPhone, StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let start = StartRequest(context: context, challenge: Self.challenge, matchCode: matchCode)
    return (fixture, phone, try await fixture.started("alice", start))
  }

  private func onlyRequest(_ phone: TestPhone) async throws -> OpenRequest {
    try #require(try await phone.list().first)
  }

  private func answer(_ statement: AnswerStatement, _ phone: TestPhone) async throws -> ServiceReply {
    try await phone.send(DeviceRoute.answer, statement.json)
  }

  @Test func theStartRepeatsTheChallengeAndThePhoneIsToldIt() async throws {
    let (fixture, phone, session) = try await waiting()
    #expect(session.challenge == Self.challenge)
    #expect(try await onlyRequest(phone).challenge == Self.challenge)
    let restarted = try fixture.restarted()
    let listed = await restarted.respond(to: TestPhone.request(DeviceRoute.requests, try phone.askBody(.requests)))
    #expect(try RequestsReply(parsing: listed.body).requests.first?.challenge == Self.challenge)
  }

  @Test(arguments: [DeviceAnswer.approve, .deny, .notMe, .unable])
  func everyAnswerSignsTheChallenge(_ answer: DeviceAnswer) async throws {
    let (fixture, phone, session) = try await waiting()
    let request = try await onlyRequest(phone)
    for wrong in [nil, Self.other] {
      let statement = AnswerStatement(
        origin: Fixture.origin, device: phone.device, session: request.session, answer: answer,
        contextHash: ShownContext.hash(request.context), nonce: request.nonce, expires: request.expires,
        challenge: wrong)
      let reply = try await self.answer(statement, phone)
      #expect(reply.status == 400)
      #expect(reply.reason == "WRONG_CHALLENGE")
    }
    #expect(try await fixture.status(of: session).status == .identifying)
    #expect(try await phone.answer(answer, to: request).status == 200)
  }

  @Test func anAnswerHasNoChallengeThatWasNotAsked() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let statement = phone.statement(.approve, to: try await onlyRequest(phone), challenge: Self.other)
    #expect(try await answer(statement, phone).reason == "WRONG_CHALLENGE")
  }

  @Test func theComputerIsGivenWhatThePhoneSigned() async throws {
    let context = SignInContext(
      host: "web-1", service: "sudo", command: String(repeating: "x", count: 3_000),
      further: [.init(name: "to", value: "Bob ‹ é \u{202E}")])
    let (fixture, phone, session) = try await waiting(matchCode: Secret("07"), context: context)
    try await phone.answer(.approve, to: try await onlyRequest(phone), code: "07")
    let approval = try #require(try await fixture.approval(of: session))
    #expect(approval["phone"]?.string == phone.device)
    #expect(approval["assertion"] == nil)
    let signed = try #require(approval["statement"])
    let statement = try AnswerStatement(signed)
    #expect(statement.challenge == Self.challenge)
    #expect(statement.contextHash == ShownContext.hash(context))
    #expect(statement.code == "07")
    #expect(statement.device == phone.device)
    #expect(statement.session == session.name)
    let signature = try #require(approval["signature"]?.string.flatMap(Base64.decode))
    #expect(try phone.key.publicKey.verifies(signature, over: signed.canonicallyEncoded()))
  }

  /// A reply may be lost, and the helper may ask weeks later.
  @Test func eachReplyOfAnActiveSessionHasTheApproval() async throws {
    let (fixture, phone, session) = try await waiting()
    #expect(try await fixture.approval(of: session) == nil)
    try await phone.approveOnly()
    let first = try #require(try await fixture.approval(of: session))
    #expect(try await fixture.approval(of: session) == first)
    #expect(try await fixture.approval(of: session, at: try fixture.restarted()) == first)
    try await phone.change(.leave)
    #expect(try await fixture.approval(of: session) == nil)
    try await phone.change(.return)
    #expect(try await fixture.approval(of: session) == first)
    _ = try await fixture.logOut(session)
    #expect(try await fixture.approval(of: session) == nil)
  }

  @Test func aHeldReplyHasTheApproval() async throws {
    let (fixture, phone, session) = try await waiting()
    _ = try await fixture.status(of: session)
    async let held = fixture.approval(of: session, wait: 30)
    try await phone.approveOnly()
    // The first change may be that the phone shows the request.
    let told = try await held
    let approval = if let told { told } else { try await fixture.approval(of: session, wait: 30) }
    #expect(approval?["phone"]?.string == phone.device)
  }

  @Test func aDenialIsNotAnApproval() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.answer(.deny, to: try await onlyRequest(phone))
    #expect(try await fixture.approval(of: session) == nil)
  }

  /// As before: members that a published client would not know are not there.
  @Test func withoutAChallengeNothingIsNew() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let started = await fixture.respond(try fixture.startRequest("alice"))
    #expect(!String(decoding: started.body, as: UTF8.self).contains("challenge"))
    guard case .started(let session) = try StartReply(parsing: started.body) else { throw Fixture.NotStarted() }
    let statement = phone.statement(.approve, to: try await onlyRequest(phone)).json
    #expect(statement["challenge"] == nil)
    try await phone.approveOnly()
    #expect(try await fixture.approval(of: session) == nil)
  }

  /// The audit of a session does not depend on what its computer verifies.
  @Test func theAuditHasTheSession() async throws {
    let (fixture, phone, _) = try await waiting()
    try await phone.approveOnly()
    let events = try await fixture.service.storage.read {
      try String.fetchAll($0, sql: "SELECT event FROM audit WHERE host = 'web-1' ORDER BY id")
    }
    #expect(events == ["asked", "approved"])
  }

  @Test func withoutTheSignedAnswerNobodyIsToldOfAnApproval() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    try await fixture.service.storage.write { try $0.execute(sql: "DELETE FROM answer") }
    let reply = await fixture.respond(try fixture.signed("GET", session.statusURL, by: session))
    #expect(reply.status == 503)
  }

  @Test func aDamagedChallengeIsNotAMissingOne() async throws {
    let (fixture, phone, session) = try await waiting()
    try await phone.approveOnly()
    try await fixture.service.storage.write { try $0.execute(sql: "UPDATE session SET challenge = 'AAAA'") }
    let reply = await fixture.respond(try fixture.signed("GET", session.statusURL, by: session))
    #expect(reply.status == 503)
  }

  @Test(arguments: [
    #"{"challenge":"AAAA","context":{"host":"a"}}"#, #"{"challenge":7,"context":{"host":"a"}}"#,
    #"{"challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}"#,
    #"{"challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","context":{"host":null}}"#,
    #"{"challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","context":{"host":"a"},"match_code":"1"}"#,
    #"{"context":{"host":"a"},"match_code":"12"}"#,
  ])
  func refusesAStartThatItCouldNotKeepAsItIs(_ body: String) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let target = "/authentication/authenticate_user/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("POST", target, Array(body.utf8)))
    #expect(reply.status == 400)
    #expect(reply.reason == "BAD_REQUEST")
  }

  // MARK: - The host of a credential

  private func reply(
    host: String?, challenge: ApprovalChallenge?, credentialOf own: String = "web-1"
  ) async throws -> (ServiceReply, TestPhone) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let credential = try await fixture.service.storage.createHostCredential(
      named: "one", host: own, of: fixture.application.id, at: fixture.clock.now)
    let start = StartRequest(context: SignInContext(host: host), challenge: challenge)
    let target = "/authentication/authenticate_user/\(credential.id)/alice"
    return (await fixture.respond(try fixture.signed("POST", target, start.encoded(), by: credential)), phone)
  }

  @Test(arguments: ["web-2", "WEB-1", "web-1 ", "", nil])
  func withAChallengeAnotherHostIsRefused(_ host: String?) async throws {
    let (reply, phone) = try await reply(host: host, challenge: Self.challenge)
    #expect(reply.status == 400)
    #expect(reply.reason == "WRONG_HOST")
    #expect(try await phone.list().isEmpty)
  }

  /// Swift takes both spellings for the same text; the digest does not.
  @Test func theSameHostInAnotherSpellingIsRefused() async throws {
    let (reply, _) = try await reply(host: "cafe\u{301}", challenge: Self.challenge, credentialOf: "caf\u{e9}")
    #expect(reply.reason == "WRONG_HOST")
  }

  @Test func theCredentialsOwnHostIsTaken() async throws {
    let (reply, phone) = try await reply(host: "web-1", challenge: Self.challenge)
    #expect(reply.status == 202)
    #expect(try await phone.list().first?.context == SignInContext(host: "web-1"))
  }

  @Test func withoutAChallengeTheHostIsReplacedAsBefore() async throws {
    let (reply, phone) = try await reply(host: "web-2", challenge: nil)
    #expect(reply.status == 202)
    #expect(try await phone.list().first?.context == SignInContext(host: "web-1"))
  }
}

extension Fixture {
  func start(_ user: String, _ start: StartRequest) async throws -> StartReply {
    let target = "/authentication/authenticate_user/\(application.id)/\(user)"
    return try StartReply(parsing: await respond(try signed("POST", target, start.encoded())).body)
  }

  func started(_ user: String, _ start: StartRequest) async throws -> StartedSession {
    guard case .started(let session) = try await self.start(user, start) else { throw NotStarted() }
    return session
  }

  /// What the status reply has for the computer to verify.
  func approval(
    of session: StartedSession, wait: Int? = nil, at service: SignInService? = nil
  ) async throws -> JSON? {
    let headers = wait.map { [(name: "Prefer", value: "wait=\($0)")] } ?? []
    let request = try signed("GET", session.statusURL, by: session, headers: headers)
    return try StatusReply(parsing: await (service ?? self.service).respond(to: request).body).approval
  }
}
