import IAMPASSProtocol
import JWTKit
import Testing

@testable import IAMPASSServer

/// Tokens that say what was approved, and the keys by which others verify them.
@Suite struct ApprovalTokenTests {
  private let context = SignInContext(host: "web-1", service: "pay", further: [.init(name: "amount", value: "7 EUR")])

  /// A request that the phone approved, and what its computer is told.
  private func approved(query: String) async throws -> (fixture: Fixture, session: StartedSession) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice", context: context, query: query)
    #expect(try await token(of: session, fixture) == nil)
    try await phone.approveOnly()
    return (fixture, session)
  }

  private func token(of session: StartedSession, _ fixture: Fixture) async throws -> String? {
    let reply = await fixture.respond(try fixture.signed("GET", session.statusURL, by: session))
    return try StatusReply(parsing: reply.body).idToken
  }

  private func published(_ fixture: Fixture) async throws -> [JSON] {
    let reply = await fixture.respond(
      ServiceRequest(method: "GET", target: "/.well-known/jwks.json", authority: Fixture.authority))
    #expect(reply.status == 200)
    return try #require(try JSON(parsing: reply.body)["keys"]?.array)
  }

  /// The claims, verified by the published keys alone.
  private func claims(_ token: String, by keys: [JSON]) async throws -> ApprovalToken {
    let text = String(decoding: JSON.object(["keys": .array(keys)]).encoded(), as: UTF8.self)
    return try await JWTKeyCollection().add(jwksJSON: text).verify(token, as: ApprovalToken.self)
  }

  @Test func saysWhatWasApproved() async throws {
    let (fixture, session) = try await approved(query: "?id_token=1&nonce=n-0")
    let token = try #require(try await token(of: session, fixture))
    let claims = try await claims(token, by: try await published(fixture))
    #expect(claims.iss == Fixture.origin)
    #expect(claims.sub == "alice")
    #expect(claims.aud == fixture.application.id)
    #expect(claims.azp == fixture.application.id)
    #expect(claims.nonce == "n-0")
    #expect(claims.amr == ["pop", "user"])
    #expect(claims.exp - claims.iat == 3_600)
    #expect(claims.approvalData.digest == ShownContext.hash(context))
    #expect(claims.approvalData.pairs == ["host": "web-1", "service": "pay", "amount": "7 EUR"])
    let header = try JSON(parsing: try #require(Base64URL.decode(String(token.prefix { $0 != "." }))))
    #expect(header["alg"] == .string("ES256"))
  }

  @Test func itsTimesAreUnixTimesWhateverServiceTimeIs() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    // As after a machine was paused.
    fixture.clock.step(seconds: 7_200)
    let session = try await fixture.started("alice", context: context, query: "?id_token=1")
    try await phone.approveOnly()
    let token = try #require(try await token(of: session, fixture))
    let claims = try await claims(token, by: try await published(fixture))
    #expect(claims.iat == fixture.clock.now.seconds)
  }

  @Test func keysAreListedByUnixTime() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    fixture.clock.step(seconds: 7_200)
    // A signed request confirms the clock.
    _ = try await fixture.started("alice", context: context, query: "?id_token=1")
    let storage = fixture.service.storage
    var listed = try await storage.publishedKeys(at: storage.now())
    listed += try #require(try await storage.rotatedKeys(at: storage.now(), isUrgent: true))
    #expect(listed.count == 2)
    #expect(listed.allSatisfy { $0.madeAt.seconds == fixture.clock.now.seconds })
  }

  @Test func saysWhichCredentialAsked() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let credential = try await fixture.service.storage.createHostCredential(
      named: "laptop", host: "laptop-7", of: "shop", at: fixture.clock.now)
    let reply = await fixture.respond(
      try fixture.signed(
        "POST", "/authentication/authenticate_user/\(credential.id)/alice?id_token=1",
        StartRequest(context: SignInContext(host: "laptop-7")).encoded(), by: credential))
    guard case .started(let session) = try StartReply(parsing: reply.body) else { throw Fixture.NotStarted() }
    try await phone.approveOnly()
    let claims = try await claims(try #require(try await token(of: session, fixture)), by: try await published(fixture))
    #expect(claims.azp == credential.id)
    #expect(claims.aud == fixture.application.id)
  }

  @Test func noTokenUnlessItIsAskedFor() async throws {
    let (fixture, session) = try await approved(query: "")
    #expect(try await token(of: session, fixture) == nil)
  }

  @Test func aTokenWithoutANonceHasNone() async throws {
    let (fixture, session) = try await approved(query: "?id_token=1")
    let token = try #require(try await token(of: session, fixture))
    #expect(try await claims(token, by: try await published(fixture)).nonce == nil)
  }

  @Test func anEndedSessionHasNoToken() async throws {
    let (fixture, session) = try await approved(query: "?id_token=1")
    _ = try await fixture.logOut(session)
    #expect(try await token(of: session, fixture) == nil)
  }

  @Test(arguments: [
    "?id_token=2", "?id_token", "?nonce=n", "?id_token=1&nonce=", "?id_token=1&nonce=a%20b",
    "?id_token=1&nonce=\(String(repeating: "n", count: 129))",
  ])
  func anythingElseIsRefused(_ query: String) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    #expect(await fixture.respond(try fixture.startRequest("alice", query: query)).status == 400)
  }

  @Test func aNewKeyIsPublishedBeforeItSignsAndAnOldOneUntilItsTokensAreOver() async throws {
    let (fixture, session) = try await approved(query: "?id_token=1")
    let first = try #require(try await token(of: session, fixture))
    let storage = try SQLiteStorage(folder: fixture.folder, clocks: fixture.clock.clocks)
    let old = try #require(try await published(fixture).first)
    _ = try #require(try await storage.rotateSigningKey(at: storage.now(), isUrgent: false))
    // Whoever signs publishes what it signs by, and time does.
    #expect(try await published(fixture) == [old])
    fixture.clock.advance(seconds: KnownSigningKeys.lifetime)
    #expect(try await published(fixture).count == 2)
    #expect(try await claims(first, by: [old]).sub == "alice")
    // Whoever has the old keys alone still verifies what is signed now.
    let meanwhile = try #require(try await token(of: session, fixture))
    #expect(try await claims(meanwhile, by: [old]).sub == "alice")
    #expect(try await storage.rotateSigningKey(at: storage.now(), isUrgent: false) == nil)
    fixture.clock.advance(seconds: SigningKey.lead - KnownSigningKeys.lifetime)
    let second = try #require(try await token(of: session, fixture))
    let new = try #require(try await published(fixture).first)
    #expect(try await claims(second, by: [new]).sub == "alice")
    fixture.clock.advance(seconds: SigningKey.afterlife - 1)
    #expect(try await published(fixture).count == 2)
    fixture.clock.advance(seconds: 1)
    #expect(try await published(fixture) == [new])
  }

  @Test func aKeyThatReplacesAllOthersIsPublishedOnceATokenHasIt() async throws {
    let (fixture, session) = try await approved(query: "?id_token=1")
    let old = try await published(fixture)
    let storage = try SQLiteStorage(folder: fixture.folder, clocks: fixture.clock.clocks)
    _ = try #require(try await storage.rotateSigningKey(at: storage.now(), isUrgent: true))
    let token = try #require(try await token(of: session, fixture))
    let new = try await published(fixture)
    #expect(new.count == 1 && new != old)
    #expect(try await claims(token, by: new).sub == "alice")
  }

  @Test func thePrivateKeyIsNotPublished() async throws {
    let fixture = try await Fixture()
    for key in try await published(fixture) {
      guard case .object(let members) = key else { throw Fixture.NotStarted() }
      #expect(Set(members.map(\.name)) == ["kty", "crv", "x", "y", "kid", "use", "alg"])
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func allWhoNeedTheFirstKeyAtOnceGetTheSame(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let now = room.now
    let ids = try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<8 {
        let connection = try room.opened()
        group.addTask { try await connection.signingKeys(at: now).map(\.id) }
      }
      return try await group.reduce(into: Set<[String]>()) { $0.insert($1) }
    }
    #expect(ids.count == 1 && ids.first?.count == 1)
  }

  @Test(arguments: StorageEngine.allCases) func eachRotationWaitsForTheOneBefore(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let first = try await room.storage.signingKeys(at: room.now)
    let now = room.now
    let second = try #require(try await room.storage.rotateSigningKey(at: now, isUrgent: false))
    #expect(second.dropFirst().map(\.id) == first.map(\.id))
    #expect(second.signer(at: now)?.id == first.first?.id)
    #expect(try await room.storage.rotateSigningKey(at: now, isUrgent: false) == nil)
    let later = now.advanced(seconds: SigningKey.lead)
    #expect(second.signer(at: later)?.id == second.first?.id)
    let third = try #require(try await room.storage.rotateSigningKey(at: later, isUrgent: false))
    #expect(third.dropFirst().map(\.id) == second.map(\.id))
    #expect(try await room.opened().signingKeys(at: later).map(\.id) == third.map(\.id))
    let much = later.advanced(seconds: SigningKey.lead + SigningKey.afterlife)
    let fourth = try #require(try await room.storage.rotateSigningKey(at: much, isUrgent: false))
    #expect(fourth.dropFirst().map(\.id) == [try #require(third.first).id])
    #expect(try await room.opened().signingKeys(at: much).map(\.id) == fourth.map(\.id))
  }

  @Test(arguments: StorageEngine.allCases) func anUrgentKeySignsAtOnceAndAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.storage.signingKeys(at: room.now)
    _ = try await room.storage.rotateSigningKey(at: room.now, isUrgent: false)
    let keys = try #require(try await room.storage.rotateSigningKey(at: room.now, isUrgent: true))
    #expect(keys.count == 1)
    #expect(keys.signer(at: room.now)?.id == keys.first?.id)
    #expect(try await room.opened().signingKeys(at: room.now).map(\.id) == keys.map(\.id))
  }
}
