import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Lists of users over the service's route.
@Suite struct UserListTests {
  private let fixture: Fixture
  private let credential: HostCredential

  init() async throws {
    fixture = try await Fixture()
    credential = try await fixture.service.storage.createHostCredential(
      named: "desk", host: "desk", of: "shop", at: fixture.clock.now)
  }

  private func add(_ name: String) async throws {
    _ = try await fixture.service.storage.listUser(UserListOrder(application: "shop", name: name, groups: nil))
    fixture.service.board.changed(.userList(fixture.application.id))
  }

  private func ask(_ query: String = "", waiting: Bool = false) async throws -> ServiceReply {
    var request = try fixture.signed("GET", "/authentication/user_list/\(credential.id)" + query, by: credential)
    if waiting {
      request = ServiceRequest(
        method: request.method, target: request.target, authority: request.authority,
        headers: request.headers + [("Prefer", "wait=20")], body: request.body, peer: request.peer)
    }
    return await fixture.respond(request)
  }

  @Test func aListIsSignedForItsComputer() async throws {
    try await add("alice")
    let reply = try await ask()
    #expect(reply.status == 200)
    #expect(reply.headers.contains { $0.name == ReplySignature.targetHeader })
    let list = try UserListReply(parsing: reply.body)
    #expect(list.credential == credential.id)
    #expect(list.changes.map(\.name) == ["alice"])
    #expect(ServiceMark(in: reply.body) != nil)
  }

  @Test func aHeldListIsToldOfAChangeAndSigned() async throws {
    try await add("alice")
    let version = try UserListReply(parsing: try await ask().body).version
    async let held = ask("?version=\(version)", waiting: true)
    while fixture.service.board.heldCount == 0 { await Task.yield() }
    try await add("bob")
    let reply = try await held
    #expect(try UserListReply(parsing: reply.body).changes.map(\.name) == ["bob"])
    #expect(reply.headers.contains { $0.name == ReplySignature.targetHeader })
    #expect(reply.headers.contains { $0.name == "Preference-Applied" })
    #expect(ServiceMark(in: reply.body) != nil)
  }

  @Test func onlyTheCredentialsOwnerGetsTheList() async throws {
    try await add("alice")
    let other = HostCredential(
      id: credential.id, application: credential.application, name: "x", host: "x",
      secret: Secret(Base64.encode(Array(repeating: 1, count: 24))), createdAt: fixture.clock.now, lastUsedAt: nil,
      revokedAt: nil)
    let request = try fixture.signed("GET", "/authentication/user_list/\(credential.id)", by: other)
    #expect(await fixture.respond(request).status == 401)
    _ = try await fixture.service.storage.revokeCredential(
      credential.id, of: fixture.application.id, at: fixture.clock.now)
    #expect(try await ask().status == 401)
  }

  @Test(arguments: ["?version=-1", "?version=x", "?version=1&version=2", "?after=a&after=b"])
  func badQuestionsAreRefused(_ query: String) async throws {
    #expect(try await ask(query).status == 400)
  }

  /// Removed users' sessions end. PostgreSQL tells of each of them.
  @Test(.timeLimit(.wholeRun), arguments: StorageEngine.allCases)
  func aChangedListWakesWhoeverWaitsForIt(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    let service = fixture.service
    let following = Task { await service.followUserLists() }
    let list = service.core.board.watch(.userList(fixture.application.id))
    let session = service.core.board.watch(.session("of another user"))
    var users = 0
    repeat {
      users += 1
      let order = UserListOrder(application: "shop", name: "user\(users)", groups: nil)
      _ = try await service.core.storage.listUser(order)
    } while await list.wake(milliseconds: 2_000) == .time
    following.cancel()
    await following.value
    #expect(await session.wake(milliseconds: 0) == (engine == .sqlite ? .change : .time))
  }
}
