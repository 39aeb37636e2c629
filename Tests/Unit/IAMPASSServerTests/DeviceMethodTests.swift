import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Approvals by an unlocked phone, and the method of each request.
@Suite struct DeviceMethodTests {
  private struct MethodFixture {
    let fixture: Fixture
    let phone: TestPhone
    let authenticator: TestAuthenticator

    init(matchCodes: MatchCodes = .off) async throws {
      fixture = try await Fixture(matchCodes: matchCodes)
      authenticator = try TestAuthenticator()
      phone = try await TestPhone.registered(in: fixture)
      let ask = try phone.ask(.credential)
      let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: try phone.key.publicKey.text)
      let statement = CredentialStatement(ask: ask, credential: try authenticator.credential(challenge: challenge))
      #expect(try await phone.send(DeviceRoute.credential, statement.json).status == 200)
    }

    func onlyRequest() async throws -> OpenRequest { try #require(try await phone.list().first) }

    /// An approval with an assertion over it, with an error on request.
    func approve(
      _ request: OpenRequest, _ wrong: TestAuthenticator.Wrong = .init(), code: String = "",
      by other: TestAuthenticator? = nil, method: AuthenticationMethod? = nil
    ) async throws -> ServiceReply {
      let statement = phone.statement(.approve, to: request, code: code, method: method).json
      let assertion = try (other ?? authenticator).assertion(
        challenge: CredentialChallenge.bytes(for: statement), wrong)
      return try await send(statement, assertion)
    }

    func send(_ statement: JSON, _ assertion: UnverifiedAssertion?) async throws -> ServiceReply {
      let body = try UnverifiedStatement.body(signing: statement, with: phone.key, assertion: assertion)
      return await fixture.respond(TestPhone.request(DeviceRoute.answer, body))
    }
  }

  @Test func withoutMethodsTheStrongestIsAskedFor() async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice")
    let request = try await scene.onlyRequest()
    #expect(request.method == .device)
    #expect(request.credential == Base64URL.encode(scene.authenticator.id))
  }

  @Test(arguments: [
    ("acceptance", AuthenticationMethod.acceptance), ("device", .device), ("acceptance,device", .device),
    ("device,facial", .device), ("", .device),
  ])
  func theStrongestOfThoseNamedIsAskedFor(_ methods: String, _ expected: AuthenticationMethod) async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice", query: "?methods=" + methods)
    #expect(try await scene.onlyRequest().method == expected)
  }

  @Test func facialIsNeverAvailable() async throws {
    let scene = try await MethodFixture()
    let reply = await scene.fixture.respond(try scene.fixture.startRequest("alice", query: "?methods=facial"))
    #expect(reply.status == 200)
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "METHOD_NOT_AVAILABLE"))
  }

  @Test func aPhoneWithoutACredentialIsNotAskedToUnlock() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    #expect(
      try await fixture.start("alice", query: "?methods=device") == .notStarted(reason: "METHOD_NOT_AVAILABLE"))
    #expect(try await phone.list().isEmpty)
  }

  @Test func anUnlockedPhoneApproves() async throws {
    let scene = try await MethodFixture()
    let session = try await scene.fixture.started("alice")
    #expect(try await scene.approve(try await scene.onlyRequest()).status == 200)
    #expect(try await scene.fixture.status(of: session).status == .active)
  }

  @Test(arguments: [
    TestAuthenticator.Wrong(type: "webauthn.create"), .init(challenge: [0]), .init(origin: "https://elsewhere.test"),
    .init(crossOrigin: true), .init(relyingParty: "elsewhere.test"), .init(flags: 0x01), .init(flags: 0x04),
    .init(flags: 0x00), .init(more: [0]), .init(flags: 0x85),
  ])
  func refusesAnAssertionThatIsNotWhatWasAsked(_ wrong: TestAuthenticator.Wrong) async throws {
    let scene = try await MethodFixture()
    let session = try await scene.fixture.started("alice")
    let reply = try await scene.approve(try await scene.onlyRequest(), wrong)
    #expect(reply.status == 403)
    #expect(reply.reason == "ASSERTION_REFUSED")
    #expect(try await scene.fixture.status(of: session).status == .identifying)
  }

  @Test func refusesAnotherAuthenticatorsAssertion() async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice")
    let other = try TestAuthenticator(id: scene.authenticator.id)
    #expect(try await scene.approve(try await scene.onlyRequest(), by: other).reason == "ASSERTION_REFUSED")
  }

  @Test(arguments: [[], [0x30], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xFF, count: 72)])
  func refusesAnythingButASignature(_ signature: [UInt8]) async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice")
    let statement = scene.phone.statement(.approve, to: try await scene.onlyRequest()).json
    let made = try scene.authenticator.assertion(challenge: CredentialChallenge.bytes(for: statement))
    let assertion = UnverifiedAssertion(
      authenticatorData: made.authenticatorData, clientData: made.clientData, signature: signature)
    let reply = try await scene.send(statement, assertion)
    #expect([400, 403].contains(reply.status))
  }

  @Test func aTapIsNotEnough() async throws {
    let scene = try await MethodFixture()
    let session = try await scene.fixture.started("alice")
    let reply = try await scene.phone.answer(.approve, to: try await scene.onlyRequest())
    #expect(reply.status == 403)
    #expect(reply.reason == "ASSERTION_MISSING")
    #expect(try await scene.fixture.status(of: session).status == .identifying)
  }

  /// Otherwise someone with only the phone's key could claim that a tap was enough.
  @Test func thePhoneDoesNotChooseTheMethod() async throws {
    let scene = try await MethodFixture()
    let session = try await scene.fixture.started("alice")
    let request = try await scene.onlyRequest()
    let statement = scene.phone.statement(.approve, to: request, method: .acceptance).json
    #expect(try await scene.send(statement, nil).reason == "WRONG_METHOD")
    #expect(try await scene.approve(request, method: .acceptance).reason == "WRONG_METHOD")
    #expect(try await scene.fixture.status(of: session).status == .identifying)
  }

  @Test func anAssertionOverAnotherAnswerIsRefused() async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice")
    let request = try await scene.onlyRequest()
    let denial = scene.phone.statement(.deny, to: request).json
    let assertion = try scene.authenticator.assertion(challenge: CredentialChallenge.bytes(for: denial))
    let approval = scene.phone.statement(.approve, to: request).json
    #expect(try await scene.send(approval, assertion).reason == "ASSERTION_REFUSED")
  }

  @Test func anAssertionForOneSessionDoesNotServeAnother() async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice")
    _ = try await scene.fixture.started("alice", context: SignInContext(host: "web-2"))
    let requests = try await scene.phone.list()
    let first = scene.phone.statement(.approve, to: requests[0]).json
    let assertion = try scene.authenticator.assertion(challenge: CredentialChallenge.bytes(for: first))
    let second = scene.phone.statement(.approve, to: requests[1]).json
    #expect(try await scene.send(second, assertion).reason == "ASSERTION_REFUSED")
  }

  @Test func aDenialNeedsNoUnlocking() async throws {
    let scene = try await MethodFixture()
    let session = try await scene.fixture.started("alice")
    #expect(try await scene.phone.answer(.deny, to: try await scene.onlyRequest()).status == 200)
    #expect(try await scene.fixture.status(of: session).status == .cancelled)
  }

  @Test func theCounterGoesForward() async throws {
    let scene = try await MethodFixture()
    for (number, counter) in [(0, 5), (1, 6), (2, 4_000_000_000)] as [(Int, UInt32)] {
      _ = try await scene.fixture.started("alice", context: SignInContext(host: "web-\(number)"))
      #expect(try await scene.approve(try await scene.onlyRequest(), .init(counter: counter)).status == 200)
    }
  }

  @Test(arguments: [5, 4, 0] as [UInt32])
  func aCounterThatDoesNotGoForwardIsRefused(_ counter: UInt32) async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice")
    #expect(try await scene.approve(try await scene.onlyRequest(), .init(counter: 5)).status == 200)
    let session = try await scene.fixture.started("alice", context: SignInContext(host: "web-2"))
    let reply = try await scene.approve(try await scene.onlyRequest(), .init(counter: counter))
    #expect(reply.reason == "ASSERTION_REFUSED")
    #expect(try await scene.fixture.status(of: session).status == .identifying)
  }

  @Test func anAuthenticatorThatDoesNotCountMaySignAgain() async throws {
    let scene = try await MethodFixture()
    for number in 0..<2 {
      _ = try await scene.fixture.started("alice", context: SignInContext(host: "web-\(number)"))
      #expect(try await scene.approve(try await scene.onlyRequest()).status == 200)
    }
  }

  @Test func anUnlockedPhoneTypesTheCodeToo() async throws {
    let scene = try await MethodFixture(matchCodes: .on)
    let session = try await scene.fixture.started("alice")
    let code = try #require(session.matchCode)
    let request = try await scene.onlyRequest()
    #expect(try await scene.approve(request).reason == "CODE_MISSING")
    #expect(try await scene.approve(request, code: code).status == 200)
  }

  @Test func aWrongCodeOfAnUnlockedPhoneDenies() async throws {
    let scene = try await MethodFixture(matchCodes: .on)
    let session = try await scene.fixture.started("alice")
    let code = session.matchCode == "00" ? "01" : "00"
    #expect(try await scene.approve(try await scene.onlyRequest(), code: code).reason == "WRONG_CODE")
    #expect(try await scene.fixture.status(of: session).status == .cancelled)
  }

  /// The stored answers, without null members.
  private func kept(_ fixture: Fixture) async throws -> [[String: String]] {
    let names = ["session", "public_key", "statement", "signature", "context", "assertion", "credential_key"]
    return try await fixture.service.storage.read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM answer").map { row in
        Dictionary(uniqueKeysWithValues: names.compactMap { name in (row[name] as String?).map { (name, $0) } })
      }
    }
  }

  @Test func theSignedTextIsKeptAndCanBeCheckedAgain() async throws {
    let scene = try await MethodFixture()
    let context = SignInContext(
      host: "shop", further: [.init(name: "amount", value: "20 €"), .init(name: "to", value: "Bob")])
    _ = try await scene.fixture.started("alice", context: context)
    let request = try await scene.onlyRequest()
    #expect(request.context == context)
    #expect(try await scene.approve(request).status == 200)
    let kept = try #require(try await kept(scene.fixture).first)
    let shown = try #require(kept["context"])
    let signed = Array(try #require(kept["statement"]).utf8)
    #expect(kept["session"] == request.session)
    #expect(shown == #"{"amount":"20 €","host":"shop","to":"Bob"}"#)
    #expect(
      try JSON(parsing: signed)["context_hash"]?.string == Digest.hexadecimal(Digest.sha256(Array(shown.utf8))))
    let signature = try #require(kept["signature"].flatMap(Base64.decode))
    #expect(try DevicePublicKey(try #require(kept["public_key"])).verifies(signature, over: signed))
    let assertion = try JSON(parsing: Array(try #require(kept["assertion"]).utf8))
    let clientData = try #require(assertion["client_data"]?.string.flatMap(Base64URL.decode))
    #expect(try JSON(parsing: clientData)["challenge"]?.string == Base64URL.encode(Digest.sha256(signed)))
    #expect(kept["credential_key"] == (try scene.authenticator.key.publicKey.text))
  }

  @Test func aTapIsKeptWithoutAnAssertion() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    let kept = try await kept(fixture)
    #expect(kept.count == 1)
    #expect(kept.first?["assertion"] == nil)
    #expect(kept.first?["statement"]?.contains(#""answer":"deny""#) == true)
  }

  @Test func whatWasRefusedIsNotKept() async throws {
    let scene = try await MethodFixture()
    _ = try await scene.fixture.started("alice")
    _ = try await scene.approve(try await scene.onlyRequest(), .init(flags: 0x01))
    #expect(
      try await scene.fixture.service.storage.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM answer") } == 0)
  }
}
