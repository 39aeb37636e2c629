import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Whoever signs is proven by what is in memory, and judged by what is stored: another server may have changed it.
@Suite struct KnownSignInClientTests {
  private static let secret = Secret("0123456789abcdef01234567")

  /// A service that knows a laptop's credential and its application, and another server on the same database.
  private struct KnownClientFixture {
    let watched: WatchedService
    let other: any ServiceStorage
    let credential: HostCredential

    var fixture: Fixture { watched.fixture }

    init(_ engine: StorageEngine) async throws {
      watched = try await WatchedService(engine: engine)
      other = try engine.open(in: watched.fixture.folder, watched.fixture.clock)
      credential = try await other.createHostCredential(
        named: "laptop", host: "laptop-7", of: "shop", at: other.now())
      #expect(await fixture.respond(try mark()).status == 200)
      #expect(await fixture.respond(try fixture.signed("GET", Self.mark(of: fixture.application.id))).status == 200)
    }

    static func mark(of id: String) -> String { "/authentication/service_mark/" + id }

    /// At the other server.
    func revoke() async throws {
      let revoked = try await other.revokeCredential(credential.id, of: fixture.application.id, at: other.now())
      #expect(revoked?.isEmpty == true)
    }

    func mark() throws -> ServiceRequest {
      try fixture.signed("GET", Self.mark(of: credential.id), by: credential)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aCredentialRevokedAtAnotherServerIsRefusedAtItsNextRequest(_ engine: StorageEngine) async throws {
    let office = try await KnownClientFixture(engine)
    #expect(office.fixture.service.core.signInClients[office.credential.id]?.credential?.isRevoked == false)
    try await office.revoke()
    for _ in 0..<2 {
      let reply = await office.fixture.respond(try office.mark())
      #expect(reply.status == 401 && reply.reason == "CREDENTIAL_REVOKED")
      #expect(reply.header(ReplySignature.header) == nil)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aRevokedCredentialStartsNothing(_ engine: StorageEngine) async throws {
    let office = try await KnownClientFixture(engine)
    _ = try await TestPhone.registered(in: office.fixture)
    try await office.revoke()
    let start = try office.fixture.startRequest("alice", context: SignInContext(), by: office.credential)
    #expect(await office.fixture.respond(start).reason == "CREDENTIAL_REVOKED")
    #expect(try await office.other.auditEntries(after: 0, limit: 1_000).allSatisfy { $0.event != "asked" })
  }

  @Test(arguments: StorageEngine.allCases)
  func aSecretRenewedAtAnotherServerAloneSignsFromThenOn(_ engine: StorageEngine) async throws {
    let office = try await KnownClientFixture(engine)
    let fixture = office.fixture
    let target = KnownClientFixture.mark(of: fixture.application.id)
    _ = try await office.other.renewSecret(of: fixture.application.id, to: Self.secret, at: office.other.now())
    #expect(await fixture.respond(try fixture.signed("GET", target)).reason == "SIGNATURE_REFUSED")
    let request = try fixture.signed("GET", target, by: fixture.application.id, Self.secret)
    let reply = await fixture.respond(request)
    #expect(reply.status == 200)
    #expect(try reply.isSigned(for: request, by: Self.secret))
    #expect(await fixture.respond(try fixture.signed("GET", target)).reason == "SIGNATURE_REFUSED")
  }

  /// The new secret comes first: what is in memory does not prove it.
  @Test(arguments: StorageEngine.allCases)
  func aSecretThatIsNotInMemorySignsAtOnce(_ engine: StorageEngine) async throws {
    let office = try await KnownClientFixture(engine)
    let fixture = office.fixture
    let target = KnownClientFixture.mark(of: fixture.application.id)
    _ = try await office.other.renewSecret(of: fixture.application.id, to: Self.secret, at: office.other.now())
    let request = try fixture.signed("GET", target, by: fixture.application.id, Self.secret)
    #expect(await fixture.respond(request).status == 200)
  }

  @Test(arguments: StorageEngine.allCases)
  func whatIsGoneIsUnknownAndIsForgotten(_ engine: StorageEngine) async throws {
    let office = try await KnownClientFixture(engine)
    let fixture = office.fixture
    let commands = try #require(office.other as? any OperatorStore)
    try await commands.takeBack(fixture.application, at: office.other.now())
    let target = KnownClientFixture.mark(of: fixture.application.id)
    #expect(await fixture.respond(try fixture.signed("GET", target)).reason == "UNKNOWN_APPLICATION")
    #expect(fixture.service.core.signInClients[fixture.application.id] == nil)
    #expect(await fixture.respond(try office.mark()).reason == "UNKNOWN_APPLICATION")
  }

  @Test(arguments: StorageEngine.allCases)
  func aNonceIsSpentOnceForWhoeverIsInMemory(_ engine: StorageEngine) async throws {
    let office = try await KnownClientFixture(engine)
    let request = try office.mark()
    #expect(await office.fixture.respond(request).status == 200)
    #expect(await office.fixture.respond(request).reason == "NONCE_REPLAYED")
  }

  @Test(arguments: StorageEngine.allCases)
  func whoeverIsInMemoryCostsOneVisitBeforeTheReply(_ engine: StorageEngine) async throws {
    let office = try await KnownClientFixture(engine)
    let (reply, looks) = await office.watched.reply(to: try office.mark())
    // The other one is the mark's, which is read after the reply's work.
    #expect(reply.status == 200 && looks == 2)
  }

  // MARK: Strangers

  private static let strangers = 2_000

  /// Who sign under one id that nobody has, or under as many.
  @Test(.timeLimit(.wholeRun), arguments: [true, false])
  func strangersByTheThousandShareTwoLooks(_ haveOneID: Bool) async throws {
    let gate = StorageGate(["signInClients(_:)"], isShut: false)
    let fixture = try await Fixture { LosingStorage($0, losing: -1, .before) { await gate.pass($0) } }
    let requests = try (0..<Self.strangers).map { number in
      let random = try #require(Digest.randomIdentifier())
      let id = haveOneID ? String(repeating: "a", count: 32) : random
      let request = try fixture.signed("GET", KnownClientFixture.mark(of: id), by: id, Self.secret)
      return ServiceRequest(
        method: request.method, target: request.target, authority: request.authority, headers: request.headers,
        peer: "10.9.\(number / 250).\(number % 250 + 1)")
    }
    gate.shut()
    let places = UnauthenticatedRequestLimit.greatestCount
    let statuses = await withTaskGroup(of: Int.self) { group in
      group.addTask { await fixture.respond(requests[0]).status }
      // A look takes all who ask before it begins: the first one is the first stranger's alone.
      while gate.looks == 0 { await Task.yield() }
      for request in requests.dropFirst() { group.addTask { await fixture.respond(request).status } }
      var statuses: [Int] = []
      // Those beyond the places are answered while the gate is shut; all others but the first wait for the second look.
      while statuses.count < Self.strangers - places, let status = await group.next() { statuses.append(status) }
      while fixture.service.core.signInClients.waiting < places - 1 { await Task.yield() }
      gate.open()
      for await status in group { statuses.append(status) }
      return statuses
    }
    #expect(statuses.count { $0 == 404 } == places)
    #expect(statuses.count { $0 == 503 } == Self.strangers - places)
    #expect(gate.looks == 2)
  }

  @Test(.timeLimit(.wholeRun)) func whoAskForThePublishedKeysByTheThousandCostALookASecond() async throws {
    let watched = try await WatchedService()
    let fixture = watched.fixture
    let request = ServiceRequest(method: "GET", target: "/.well-known/jwks.json", authority: Fixture.authority)
    let (first, looks) = await watched.reply(to: request)
    #expect(first.status == 200 && looks == 1)
    let before = watched.looks
    await withTaskGroup(of: ServiceReply.self) { group in
      for _ in 0..<1_000 { group.addTask { await fixture.respond(request) } }
      for await reply in group { #expect(reply.status == 200 && reply.body == first.body) }
    }
    #expect(watched.looks == before)
    fixture.clock.advance(seconds: KnownSigningKeys.lifetime)
    #expect(await fixture.respond(request).status == 200)
    #expect(watched.looks == before + 1)
  }
}
