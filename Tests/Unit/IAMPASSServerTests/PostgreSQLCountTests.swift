import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// What PostgreSQL's triggers count in one row, for changes of many rows at once.
@Suite struct PostgreSQLCountTests {
  @Test func manyEndsInOneTransactionAreCountedOnceAndEachIsTold() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    var sessions: Set<String> = []
    for number in 1...100 { sessions.insert(try await room.approved(by: phone, host: "web-\(number)").id) }
    let others = try #require(room.opened().changeListener)
    _ = try await others.events()
    let counter = PostgreSQLCall("SELECT counter FROM service_mark")
    let before = try #require(try Self.number(counter, in: room))
    room.clock.advance(seconds: 7_200)
    let ended = try await room.storage.endOverdue(at: room.now, after: nil, limit: 100).ended
    #expect(Set(ended.map(\.id)) == sessions)
    #expect(try Self.number(counter, in: room) == before + 1)
    var told: Set<String> = []
    for _ in 0..<30 where told.count < sessions.count {
      for case .changed(.session(let id)) in try await others.events() { told.insert(id) }
    }
    #expect(told == sessions)
  }

  /// Each of two transactions over one connection.
  @Test func everyTransactionIsCounted() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    let session = try await room.started(room.ask())
    let connection = try Self.connection(to: room)
    let counter = PostgreSQLCall("SELECT counter FROM service_mark")
    let before = try #require(try connection.ask([counter])[0].first?.integer(0))
    for status in ["identifying", "pending"] {
      try connection.run([
        PostgreSQLCall("UPDATE session SET status = $1 WHERE id = $2", .text(status), .text(session.id))
      ])
    }
    #expect(try connection.ask([counter])[0].first?.integer(0) == before + 2)
    // One that was rolled back is not.
    _ = try connection.ask([
      PostgreSQLCall("BEGIN"),
      PostgreSQLCall("UPDATE session SET status = 'identifying' WHERE id = $1", .text(session.id)),
    ])
    connection.rollBack()
    #expect(try connection.ask([counter])[0].first?.integer(0) == before + 2)
    _ = try await room.answer(session.id, .approve, by: phone).get()
    #expect(try connection.ask([counter])[0].first?.integer(0) == before + 3)
  }

  @Test func usersWhoAreDeletedTogetherChangeTheirListOnce() async throws {
    let room = try await StorageFixture(.postgresql)
    for name in ["alice", "bob", "carol", "dave"] {
      _ = try await room.storage.listUser(UserListOrder(application: "shop", name: name, groups: nil))
    }
    let connection = try Self.connection(to: room)
    let list = PostgreSQLCall("SELECT version, users FROM user_list")
    let before = try #require(try connection.ask([list])[0].first)
    let version = try #require(try before.integer(0))
    #expect(try before.integer(1) == 4)
    let tokens = try connection.ask([
      PostgreSQLCall(
        """
        SELECT app_user.name FROM app_user JOIN listed_user ON listed_user.user_id = app_user.id
        WHERE listed_user.name <> 'dave'
        """)
    ])[0].compactMap { try $0.text(0) }
    _ = try await room.storage.deleteUsers(tokens, of: room.application.id, at: room.now)
    let after = try #require(try connection.ask([list])[0].first)
    #expect(try after.integer(0) == version + 1)
    #expect(try after.integer(1) == 1)
    let gone = try connection.ask([
      PostgreSQLCall("SELECT version FROM listed_user WHERE user_id IS NULL ORDER BY name")
    ])[0].map { try $0.integer(0) }
    #expect(gone == Array(repeating: version + 1, count: 3))
  }

  @Test func idsOfUsersWhoWereAddedTogetherAreNotGivenAgain() async throws {
    let room = try await StorageFixture(.postgresql)
    let greatest = PostgreSQLCall("SELECT id FROM greatest_user")
    _ = try await room.storage.addUsers(["alice", "bob", "carol"], to: room.application.id)
    #expect(try Self.number(greatest, in: room) == 3)
    // Nobody is new.
    _ = try await room.storage.addUsers(["alice", "bob"], to: room.application.id)
    #expect(try Self.number(greatest, in: room) == 3)
    _ = try await room.storage.deleteUsers(["alice", "bob", "carol"], of: room.application.id, at: room.now)
    #expect(try await room.addUser("dave") == 4)
  }

  private static func number(_ ask: PostgreSQLCall, in room: StorageFixture) throws -> Int64? {
    try connection(to: room).ask([ask])[0].first?.integer(0)
  }

  private static func connection(to room: StorageFixture) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }
}
