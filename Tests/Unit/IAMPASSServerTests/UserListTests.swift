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

  @Test(.timeLimit(.wholeRun)) func aHeldListIsNotToldToAComputerThatWasRevokedMeanwhile() async throws {
    try await add("alice")
    let version = try UserListReply(parsing: try await ask().body).version
    async let held = ask("?version=\(version)", waiting: true)
    while fixture.service.board.heldCount == 0 { await Task.yield() }
    _ = try await fixture.service.storage.revokeCredential(
      credential.id, of: fixture.application.id, at: fixture.clock.now)
    try await add("bob")
    let reply = try await held
    #expect(reply.status == 401)
    #expect(reply.reason == Reason.credentialRevoked.rawValue)
  }

  @Test(.timeLimit(.wholeRun)) func aHeldListIsNotToldToWhoeverHasTheFormerSecret() async throws {
    try await add("alice")
    let id = fixture.application.id
    let whole = await fixture.respond(try fixture.signed("GET", "/authentication/user_list/\(id)"))
    let version = try UserListReply(parsing: whole.body).version
    let request = try fixture.signed(
      "GET", "/authentication/user_list/\(id)?version=\(version)", headers: [(name: "Prefer", value: "wait=20")])
    async let held = fixture.respond(request)
    while fixture.service.board.heldCount == 0 { await Task.yield() }
    let secret = Secret(Base64.encode(Array(repeating: 1, count: 24)))
    _ = try await fixture.service.storage.renewSecret(of: id, to: secret, at: fixture.clock.now)
    try await add("bob")
    #expect(await held.reason == Reason.signatureRefused.rawValue)
  }

  /// A standby that lagged is promoted once the page was read: there its version will stand for other users.
  @Test(.timeLimit(.wholeRun), arguments: StorageEngine.allCases, [false, true])
  func aPageHasTheEpochInWhichItWasRead(_ engine: StorageEngine, _ isHeld: Bool) async throws {
    let fixture = try await Fixture(engine: engine) { inner in
      LosingStorage(inner, losing: -1, .before) { name in
        if name == "mark()" { await Self.beginEpoch(in: inner) }
      }
    }
    let (storage, id) = (fixture.service.core.storage, fixture.application.id)
    _ = try await storage.listUser(UserListOrder(application: "shop", name: "alice", groups: nil))
    let known = try await storage.userListPage(
      UserListQuery(requester: id, application: id, group: "", since: 0, after: ""))
    let request = try fixture.signed(
      "GET", "/authentication/user_list/\(id)?version=\(isHeld ? known.page.version : 0)",
      headers: isHeld ? [(name: "Prefer", value: "wait=20")] : [])
    async let reply = fixture.respond(request)
    if isHeld {
      while fixture.service.board.heldCount == 0 { await Task.yield() }
      _ = try await storage.listUser(UserListOrder(application: "shop", name: "bob", groups: nil))
      fixture.service.board.changed(.userList(id))
    }
    let body = await reply.body
    #expect(try UserListReply(parsing: body).changes.map(\.name) == [isHeld ? "bob" : "alice"])
    #expect(ServiceMark(in: body)?.epoch == known.mark.epoch)
    #expect(try await storage.mark().epoch > known.mark.epoch)
  }

  private static func beginEpoch(in storage: any ServiceStorage) async {
    let now = storage.now()
    do {
      if let storage = storage as? SQLiteStorage {
        try await storage.write { try HistoryMark.beginEpoch(at: now, in: $0) }
      } else {
        try await #require(storage as? PostgreSQLStorage).write { try HistoryMark.beginEpoch(at: now, in: $0) }
      }
    } catch { Issue.record(error) }
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

  /// Removed users' sessions end. Whoever waits for others is not woken.
  @Test(.timeLimit(.wholeRun), arguments: StorageEngine.allCases)
  func aChangedListWakesWhoeverWaitsForItAlone(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    let service = fixture.service
    let following = Task { await service.followUserLists() }
    let list = service.core.board.watch(.userList(fixture.application.id))
    let others = [
      ChangeBoard.Topic.session("of another user"), .user(0), .userList("of another application"),
      .joining(name: "desk", mark: "123456"),
    ].map { service.core.board.watch($0) }
    var users = 0
    repeat {
      users += 1
      let order = UserListOrder(application: "shop", name: "user\(users)", groups: nil)
      _ = try await service.core.storage.listUser(order)
    } while await list.wake(milliseconds: 2_000) == .time
    following.cancel()
    await following.value
    for other in others { #expect(await other.wake(milliseconds: 0) == .time) }
  }

  /// A command does this on the database of one server, which is not told of it.
  @Test(.timeLimit(.wholeRun)) func whoWaitsForARemovedUsersSessionIsWoken() async throws {
    let (service, board, storage) = (fixture.service, fixture.service.board, fixture.service.core.storage)
    try await add("bob")
    guard case .listed(_, let token)? = try UserListReply(parsing: try await ask().body).changes.first else {
      throw Fixture.NotStarted()
    }
    _ = try await TestPhone.registered(in: fixture, user: token.exposedValue)
    let name = try #require(try await fixture.started(token.exposedValue).name)
    let user = try #require(try await storage.session(name)?.user)
    let following = Task { await service.followUserLists() }
    // The first look only finds what there is.
    let list = board.watch(.userList(fixture.application.id))
    var users = 0
    repeat {
      users += 1
      _ = try await storage.listUser(UserListOrder(application: "shop", name: "user\(users)", groups: nil))
    } while await list.wake(milliseconds: 2_000) == .time
    let watches = [board.watch(.session(name)), board.watch(.user(user))]
    let other = board.watch(.session("of another user"))
    try await storage.removeListedUser("bob", of: "shop", at: fixture.clock.now)
    for watch in watches { #expect(await watch.wake(milliseconds: 60_000) == .change) }
    following.cancel()
    await following.value
    #expect(await other.wake(milliseconds: 0) == .time)
  }

  @Test(arguments: StorageEngine.allCases) func theAuditNamesWhoIsConcerned(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.storage.listUser(UserListOrder(application: "shop", name: "bob", groups: nil))
    let phone = try await room.phone(of: "alice")
    let session = try await room.approved(by: phone, for: "alice")
    let last = try #require(try await room.storage.userListVersions().lastAuditID)
    #expect(try await room.storage.topics(inAuditAfter: last, of: [room.application.id]).isEmpty)
    let user = try #require(session.user)
    _ = try await room.storage.deleteUsers(["alice"], of: room.application.id, at: room.now)
    let topics = try await room.storage.topics(inAuditAfter: last, of: [room.application.id])
    #expect(topics == [.session(session.id), .user(user)])
    #expect(try await room.storage.topics(inAuditAfter: last, of: ["of another application"]).isEmpty)
  }

  @Test(arguments: [true, false]) func aSignatureWakesWhoeverWaitsForAListAlone(_ isSet: Bool) async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    if isSet { _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin) }
    let board = office.fixture.service.board
    let (list, another) = (board.watch(.userList(office.application)), board.watch(.userList("of another application")))
    let session = board.watch(.session("of another user"))
    #expect(try await office.sign(isSet ? DocumentOrder.Subject.administrators(.keep) : nil) == .signed)
    #expect(await list.wake(milliseconds: 0) == .change)
    #expect(await another.wake(milliseconds: 0) == (isSet ? .change : .time))
    #expect(await session.wake(milliseconds: 0) == .time)
  }
}
