import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The console and the metrics read how many users, phones, computers and sessions there are, and do not count them.
@Suite struct KeptCountTests {
  @Test(arguments: StorageEngine.allCases)
  func usersPhonesAndComputersAreCountedAsTheyComeAndGo(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    #expect(try await room.counts() == Counts())
    _ = try await room.phone()
    _ = try await room.phone(of: "bob")
    // A user is added once.
    _ = try await room.addUser("bob")
    _ = try await room.addUser("carol")
    #expect(try await room.counts() == Counts(users: 3, phones: 2))
    _ = try await room.makeLink(for: "bob", loss: .keepsSessions)
    #expect(try await room.counts() == Counts(users: 3, phones: 1))
    _ = try await room.storage.deleteUsers(["alice", "carol", "nobody"], of: room.application.id, at: room.now)
    #expect(try await room.counts() == Counts(users: 1))
    let desk = try await room.storage.createHostCredential(
      named: "desk", host: "desk", of: room.application.id, at: room.now)
    _ = try await room.storage.createHostCredential(
      named: "lab", host: "lab", of: room.application.id, at: room.now)
    // A program is not a computer.
    let operators = try #require(room.storage as? any OperatorStore)
    _ = try await operators.createOpenIDClient(named: "wiki", shown: "Wiki", of: "shop", at: room.now)
    #expect(try await room.counts() == Counts(users: 1, computers: 2))
    for _ in 0..<2 { _ = try await room.storage.revokeCredential(desk.id, of: room.application.id, at: room.now) }
    try await operators.revokeHostCredential(named: "wiki", of: "shop", isOpenID: true, at: room.now)
    #expect(try await room.counts() == Counts(users: 1, computers: 1))
  }

  @Test(arguments: StorageEngine.allCases)
  func aSessionIsCountedWhileItIsUnansweredAndWhileItIsLive(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let first = try await room.started(room.ask(host: "web-1"))
    #expect(try await room.counts() == Counts(users: 1, phones: 1, unanswered: 1))
    _ = try await room.answer(first.id, .approve, by: phone).get()
    #expect(try await room.counts() == Counts(users: 1, phones: 1, live: 1))
    let refused = try await room.started(room.ask(host: "web-2"))
    _ = try await room.answer(refused.id, .deny, by: phone).get()
    #expect(try await room.counts() == Counts(users: 1, phones: 1, live: 1))
    _ = try await room.approved(by: phone, host: "web-3")
    _ = try await room.storage.logOut(first.id, at: room.now)
    #expect(try await room.counts() == Counts(users: 1, phones: 1, live: 1))
    _ = try await room.started(room.ask(host: "web-4"))
    room.clock.advance(seconds: 7_200)
    _ = try await room.endOverdue()
    #expect(try await room.counts() == Counts(users: 1, phones: 1))
  }

  @Test(arguments: StorageEngine.allCases)
  func eachApplicationHasItsOwnCountsAndADeletedOneHasNone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    _ = try await room.approved(by: phone)
    let other = try await room.storage.createApplication(named: "bank", matchCodes: .off, at: room.now)
    _ = try await room.storage.addUsers(["alice", "bob"], to: other.id)
    func listed() async throws -> [String] {
      try await room.storage.applications().map { "\($0.name) \($0.users) \($0.liveSessions)" }
    }
    #expect(try await listed() == ["bank 2 0", "shop 1 1"])
    #expect(try await room.storage.application(other.id, usersAfter: 0)?.application.users == 2)
    #expect(try await room.storage.stock().users == 3)
    try await #require(room.storage as? any OperatorStore).takeBack(other, at: room.now)
    #expect(try await listed() == ["shop 1 1"])
    #expect(try await room.counts() == Counts(users: 1, phones: 1, live: 1))
  }

  /// A database from before has no counts.
  @Test(arguments: StorageEngine.allCases)
  func whatAnEarlierVersionHasIsCountedOnce(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    _ = try await room.phone(of: "bob")
    _ = try await room.storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: room.now)
    _ = try await room.approved(by: phone, host: "web-1")
    let refused = try await room.started(room.ask(host: "web-2"))
    _ = try await room.answer(refused.id, .deny, by: phone).get()
    _ = try await room.started(room.ask(host: "web-3"))
    let before = Counts(users: 2, phones: 2, computers: 1, unanswered: 1, live: 1)
    #expect(try await room.counts() == before)
    try await room.forgetCounts()
    let storage = try room.opened()
    #expect(try await room.counts(by: storage) == before)
    _ = try await storage.addUsers(["carol"], to: room.application.id)
    #expect(try await room.counts(by: storage).users == 3)
  }
}

private struct Counts: Equatable {
  var users: Int64 = 0
  var phones: Int64 = 0
  var computers: Int64 = 0
  var unanswered: Int64 = 0
  var live: Int64 = 0
}

extension StorageFixture {
  /// - Parameter storage: nil: the room's own.
  fileprivate func counts(by storage: (any ServiceStorage)? = nil) async throws -> Counts {
    let stock = try await (storage ?? self.storage).stock()
    return Counts(
      users: stock.users, phones: stock.phones, computers: stock.hostCredentials, unanswered: stock.unanswered,
      live: stock.live)
  }

  /// Takes the database back to where it was before its rows were counted.
  fileprivate func forgetCounts() async throws {
    try await undo(
      "kept counts",
      sqlite: """
        DROP TRIGGER user_counted;
        DROP TRIGGER user_counted_no_more;
        DROP TRIGGER computer_counted;
        DROP TRIGGER computer_counted_again;
        DROP TRIGGER computer_counted_no_more;
        DROP TRIGGER phone_counted;
        DROP TRIGGER phone_counted_again;
        DROP TRIGGER phone_counted_no_more;
        DROP TRIGGER session_counted;
        DROP TRIGGER session_counted_again;
        DROP TRIGGER session_counted_no_more;
        DROP TABLE kept_count;
        """,
      postgreSQL: """
        DROP FUNCTION count_user CASCADE;
        DROP FUNCTION count_computer CASCADE;
        DROP FUNCTION count_phone CASCADE;
        DROP FUNCTION count_session CASCADE;
        DROP FUNCTION keep_count;
        DROP TABLE kept_count;
        """)
  }
}
