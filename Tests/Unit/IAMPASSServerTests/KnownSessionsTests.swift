import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Copies of sessions in memory: none is out of date, and a change of one leaves the others.
@Suite struct KnownSessionsTests {
  private let room: StorageFixture
  private let storage: SQLiteStorage
  private let phone: ActingPhone
  /// Two sessions that a phone approved, and their copies.
  private let sessions: [Session]

  init() async throws {
    room = try await StorageFixture(.sqlite)
    storage = try #require(room.storage as? SQLiteStorage)
    phone = try await room.phone()
    sessions = [try await room.approved(by: phone, host: "web-1"), try await room.approved(by: phone, host: "web-2")]
    #expect(try await told(sessions[0].id) == .active)
    #expect(try await told(sessions[1].id) == .active)
    #expect(storage.sessions.count == 2)
  }

  /// What the client is told of a session, as it is read with the nonce of its request.
  private func told(_ id: String) async throws -> SessionStatus? {
    let nonce = SignedNonce(
      owner: "a", value: try RandomValue.identifier(), forgetAt: room.now.advanced(seconds: SignedNonce.lifetime))
    return try await storage.useNonce(NonceUse(nonce: nonce, now: room.now, session: id)).moment?.view?.session
      .lifecycle.status
  }

  @Test func anEndOfOneLeavesTheOthers() async throws {
    _ = try await storage.logOut(sessions[0].id, at: room.now)
    #expect(storage.sessions.count == 1)
    #expect(try await told(sessions[0].id) == .closed)
    #expect(try await told(sessions[1].id) == .active)
  }

  @Test func aStartAndItsAnswerLeaveTheOthers() async throws {
    let session = try await room.started(room.ask(host: "web-3"))
    #expect(storage.sessions.count == 2)
    #expect(try await told(session.id) == .pending)
    #expect(storage.sessions.count == 3)
    _ = try await room.answer(session.id, .approve, by: phone).get()
    #expect(storage.sessions.count == 2)
    #expect(try await told(session.id) == .active)
  }

  @Test func aStartThatEndsAnotherDropsThemAll() async throws {
    let unread = try await room.started(room.ask(host: "web-3"))
    #expect(try await told(unread.id) == .pending)
    // The phone could not read it, and the user's next start ends it.
    try await storage.write {
      try $0.execute(sql: "UPDATE session SET context = 'damaged' WHERE id = ?", arguments: [unread.id])
    }
    #expect(try await told(sessions[0].id) == .active)
    _ = try await room.start(room.ask(host: "web-4"))
    #expect(storage.sessions.count == 0)
    #expect(try await told(unread.id) == .closed)
  }

  @Test func anyOtherChangeDropsThemAll() async throws {
    _ = try await storage.addUsers(["bob"], to: room.application.id)
    #expect(storage.sessions.count == 0)
  }

  @Test func aChangeThatFailsDropsThemAll() async throws {
    await #expect(throws: StorageFixture.Thrown.self) {
      _ = try await storage.changeSession(sessions[0].id) { _ in throw StorageFixture.Thrown() }
    }
    #expect(storage.sessions.count == 0)
    #expect(try await told(sessions[0].id) == .active)
  }

  @Test func aChangeOfAnotherProcessDropsThemAllAlsoAfterOneOfThisOne() async throws {
    let other = try #require(try room.opened() as? SQLiteStorage)
    _ = try await other.logOut(sessions[1].id, at: room.now)
    _ = try await storage.logOut(sessions[0].id, at: room.now)
    #expect(try await told(sessions[1].id) == .closed)
    #expect(try await told(sessions[0].id) == .closed)
  }
}
