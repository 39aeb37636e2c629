import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A phone that lacks a method is told so, and can add it.
@Suite struct MissingMethodsTests {
  private func training(of phone: TestPhone) async throws -> [AuthenticationMethod] {
    try DeviceStatusReply(parsing: try await phone.status().body).training
  }

  private func addLock(to phone: TestPhone) async throws {
    let authenticator = try TestAuthenticator()
    let ask = try phone.ask(.credential)
    let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: try phone.key.publicKey.text)
    let statement = CredentialStatement(ask: ask, credential: try authenticator.credential(challenge: challenge))
    #expect(try await phone.send(DeviceRoute.credential, statement.json).status == 200)
  }

  @Test func aPhoneThatLacksWhatIsAskedForIsTold() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    #expect(try await training(of: phone).isEmpty)
    for _ in 0..<2 {
      let reply = try await fixture.start("alice", query: "?methods=device,facial")
      #expect(reply == .notStarted(reason: "METHOD_NOT_AVAILABLE"))
    }
    #expect(try await training(of: phone) == [.device])
    let listed = await fixture.respond(TestPhone.request(DeviceRoute.requests, try phone.askBody(.requests)))
    let listing = try RequestsReply(parsing: listed.body)
    #expect(listing.requests.isEmpty && listing.training == [.device])
  }

  @Test func aPhoneThatAddsItIsAskedAndToldNoMore() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.start("alice", query: "?methods=device")
    try await addLock(to: phone)
    #expect(try await training(of: phone).isEmpty)
    _ = try await fixture.started("alice", query: "?methods=device")
    #expect(try await phone.list().map(\.method) == [.device])
  }

  @Test func nothingIsSaidOfAMethodThatNobodyCanAdd() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.start("alice", query: "?methods=facial")
    #expect(try await training(of: phone).isEmpty)
  }

  @Test func aRequestThatThePhoneCanAnswerTrainsNobody() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice", query: "?methods=acceptance,device")
    #expect(try await training(of: phone).isEmpty)
  }

  @Test func theNextPhoneIsNotToldOfTheLastOnes() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    _ = try await fixture.start("alice", query: "?methods=device")
    let next = try await TestPhone.registered(in: fixture, lost: true)
    #expect(try await training(of: next).isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func whatAPhoneLacksIsStoredOnce(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let asked = room.ask(methods: [.device])
    for _ in 0..<2 {
      guard case .not(.missingMethods(let missing, let user)) = try await room.start(asked).outcome else {
        throw StorageFixture.NotStarted()
      }
      #expect(missing.first?.phone == phone.id && user == phone.user)
    }
    #expect(try await room.storage.requests(for: phone, at: room.now)?.missingMethods == [.device])
    #expect(try await room.storage.account(of: phone, at: room.now).missingMethods == [.device])
  }
}
