import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Sessions whose rows cannot be read: damaged ones, and those with words of a newer version on the same database.
@Suite struct StorageUnreadableTests {
  enum Damage: CaseIterable, Sendable {
    case method, status, asked, challenge, context

    var sql: StaticString {
      switch self {
      case .method: "UPDATE session SET method = 'telepathy' WHERE id = $1"
      case .status: "UPDATE session SET status = 'dreaming' WHERE id = $1"
      case .asked: "UPDATE session SET asked = 'somebody' WHERE id = $1"
      case .challenge: "UPDATE session SET challenge = 'AAAA' WHERE id = $1"
      case .context: "UPDATE session SET context = '{' WHERE id = $1"
      }
    }
  }

  private func expectEnd(
    of id: String, _ ending: SessionLifecycle.Ending, in room: StorageFixture, _ closed: [Session]?
  ) async throws {
    #expect(closed?.contains(where: { $0.id == id }) == true)
    // Its client learns of it.
    let lifecycle = try #require(await room.storage.session(id)).lifecycle
    #expect(lifecycle.status == .closed && lifecycle.ending == ending && lifecycle.endedAt == room.now)
  }

  @Test(arguments: StorageEngine.allCases, Damage.allCases)
  func oneEndsWithItsUserAndKeepsNoOtherAlive(_ engine: StorageEngine, _ damage: Damage) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let bad = try await room.approved(by: phone).id
    let good = try await room.approved(by: phone, host: "web-2").id
    try await room.execute(damage.sql, bad)
    let closed = try await room.storage.deleteUsers(["alice"], of: room.application.id, at: room.now)
    #expect(closed.count == 2)
    for id in [bad, good] { try await expectEnd(of: id, .userDeleted, in: room, closed) }
    #expect(try await room.storage.user("alice", of: room.application.id) == nil)
  }

  @Test(arguments: StorageEngine.allCases, Damage.allCases)
  func oneEndsWithALostPhoneUnlessItIsKept(_ engine: StorageEngine, _ damage: Damage) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let kept = try await room.approved(by: phone).id
    let bad = try await room.approved(by: phone, host: "web-2").id
    for id in [kept, bad] { try await room.execute(damage.sql, id) }
    let stored = try #require(await room.makeLink(loss: .endsSessions(but: [kept])).stored)
    #expect(stored.closed.map(\.id) == [bad])
    try await expectEnd(of: bad, .phoneLost, in: room, stored.closed)
  }

  @Test(arguments: StorageEngine.allCases, Damage.allCases)
  func anUnansweredOneEndsWithItsApplicationsUse(_ engine: StorageEngine, _ damage: Damage) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let bad = try await room.started(room.ask()).id
    try await room.execute(damage.sql, bad)
    let closed = try await room.storage.setDisabled(true, of: room.application.id, at: room.now)
    try await expectEnd(of: bad, .applicationDisabled, in: room, closed)
  }

  @Test(arguments: StorageEngine.allCases, Damage.allCases)
  func anUnansweredOneEndsWithItsComputersCredential(_ engine: StorageEngine, _ damage: Damage) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let (storage, shop) = (room.storage, room.application.id)
    let credential = try await storage.createHostCredential(named: "a", host: "h", of: shop, at: room.now)
    let approved = try await room.started(room.ask(host: "web-1", by: credential)).id
    _ = try await room.answer(approved, .approve, by: phone).get()
    let bad = try await room.started(room.ask(host: "web-2", by: credential)).id
    for id in [approved, bad] { try await room.execute(damage.sql, id) }
    let closed = try await storage.revokeCredential(credential.id, of: shop, at: room.now)
    #expect(closed?.map(\.id) == [bad])
    try await expectEnd(of: bad, .credentialRevoked, in: room, closed)
  }

  @Test(arguments: StorageEngine.allCases)
  func oneEndsWithTheComputersBoot(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let credential = try await room.storage.createHostCredential(
      named: "a", host: "h", of: room.application.id, at: room.now)
    let bad = try await room.started(room.ask(by: credential, boot: SignedBoot(id: "first", signedAt: 1))).id
    try await room.execute(Damage.method.sql, bad)
    let start = try await room.start(room.ask(by: credential, boot: SignedBoot(id: "second", signedAt: 2)))
    guard case .isNew(let ended)? = start.boot else { throw StorageFixture.NotStarted() }
    try await expectEnd(of: bad, .computerRestarted, in: room, ended)
  }

  @Test(arguments: StorageEngine.allCases, [Damage.method, .asked, .challenge, .context])
  func oneHidesNoOtherInTheListOfAll(_ engine: StorageEngine, _ damage: Damage) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let bad = try await room.approved(by: phone).id
    let good = try await room.approved(by: phone, host: "web-2").id
    try await room.execute(damage.sql, bad)
    #expect(try await room.storage.liveSessions().map(\.session.id) == [good])
  }

  @Test(arguments: StorageEngine.allCases)
  func oneKeepsNoOtherHereAsThePhoneLeaves(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let bad = try await room.approved(by: phone).id
    let good = try await room.approved(by: phone, host: "web-2").id
    try await room.execute(Damage.method.sql, bad)
    let moved = try #require(await room.storage.setPresence(.away, of: phone, at: room.now))
    #expect(moved.map(\.id) == [good] && moved.map(\.lifecycle.status) == [.walkaway])
  }

  @Test(arguments: StorageEngine.allCases, [Damage.method, .asked, .challenge, .context])
  func anUnansweredOneEndsAsItsUserSignsInAgain(_ engine: StorageEngine, _ damage: Damage) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let bad = try await room.started(room.ask()).id
    try await room.execute(damage.sql, bad)
    let start = try await room.start(room.ask())
    guard case .started(let session, _) = start.outcome else { throw StorageFixture.NotStarted() }
    #expect(session.id != bad)
    try await expectEnd(of: bad, .notAnswered, in: room, start.ended)
    #expect(try await room.storage.session(bad)?.lifecycle.approvedAt == nil)
  }

  @Test(arguments: StorageEngine.allCases, [Damage.method, .asked, .challenge, .context])
  func anApprovedOneIsLeftAloneByItsUsersNextSignIn(_ engine: StorageEngine, _ damage: Damage) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let bad = try await room.approved(by: phone).id
    try await room.execute(damage.sql, bad)
    let start = try await room.start(room.ask())
    guard case .started(let session, _) = start.outcome else { throw StorageFixture.NotStarted() }
    #expect(start.ended.isEmpty)
    let requests = try #require(await room.storage.requests(for: phone, at: room.now))
    #expect(requests.unended.map(\.id) == [session.id] && requests.unreadable == [bad])
    #expect(try await room.storage.account(of: phone, at: room.now).unended.map(\.id) == [session.id])
    #expect(try await room.storage.see(session, at: room.now))
    // It had not ended.
    let closed = try await room.storage.deleteUsers(["alice"], of: room.application.id, at: room.now)
    #expect(closed.contains { $0.id == bad })
  }

  @Test func aPhonesListLeavesItOutAndTheLogSaysSoOnce() async throws {
    let lines = LogLines()
    let fixture = try await Fixture(logger: lines.logger)
    let phone = try await TestPhone.registered(in: fixture)
    let bad = try #require(try await fixture.started("alice").name)
    let good = try #require(try await fixture.started("alice", context: SignInContext(host: "web-2")).name)
    try await fixture.service.storage.write { try $0.execute(Damage.method.sql, bad) }
    for _ in 0..<2 { #expect(try await phone.list().map(\.session) == [good]) }
    #expect(try await phone.status().status == 200)
    let said = lines.all.filter { $0.message.hasPrefix("sessions cannot be read, and are left out") }
    #expect(said.count == 1 && said.first?.metadata["sessions"] == bad)
  }
}
