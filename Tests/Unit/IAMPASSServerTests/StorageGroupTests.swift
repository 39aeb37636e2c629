import GRDB
import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// The contract of groups, which each engine keeps.
@Suite struct StorageGroupTests {
  private func list(
    _ name: String, _ groups: [String]? = nil, in room: StorageFixture, on connection: (any ServiceStorage)? = nil
  ) async throws {
    let order = UserListOrder(application: "shop", name: name, groups: groups)
    _ = try await (connection ?? room.storage).listUser(order)
  }

  /// Each group with its users, computers and join codes, as `lab 2 0 1`.
  private func groups(
    after name: String = "", matching text: String = "", in room: StorageFixture,
    on connection: (any ServiceStorage)? = nil
  ) async throws -> [String] {
    let page = try await (connection ?? room.storage).groups(of: room.application.id, after: name, matching: text)
    return try #require(page).groups.map { "\($0.name) \($0.users) \($0.computers) \($0.codes)" }
  }

  private func users(
    of group: String, after name: String = "", in room: StorageFixture, on connection: (any ServiceStorage)? = nil
  ) async throws -> [String] {
    let found = try await (connection ?? room.storage).group(group, of: room.application.id, usersAfter: name)
    return found?.users.compactMap(\.known.name) ?? []
  }

  @Test(arguments: StorageEngine.allCases) func groupsFollowTheListOfUsers(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await list("alice", ["lab", "office"], in: room)
    try await list("bob", ["lab", "lab"], in: room)
    try await list("carol", in: room)
    #expect(try await groups(in: room) == ["lab 2 0 0", "office 1 0 0"])
    #expect(try await users(of: "lab", in: room) == ["alice", "bob"])
    try await list("bob", ["office", "Lab"], in: room)
    #expect(try await groups(in: room) == ["Lab 1 0 0", "lab 1 0 0", "office 2 0 0"])
    try await room.storage.removeListedUser("alice", of: "shop", at: room.now)
    // Back again, without the groups of before.
    try await list("alice", in: room)
    #expect(try await groups(in: room) == ["Lab 1 0 0", "office 1 0 0"])
    #expect(try await users(of: "lab", in: room).isEmpty)
    #expect(try await users(of: "office", in: room) == ["bob"])
    try await list("bob", [], in: room)
    #expect(try await groups(in: room).isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func whoeverIsDeletedInWhateverWayLeavesTheirGroups(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for name in ["alice", "bob"] { try await list(name, ["lab"], in: room) }
    let lab = try await room.storage.group("lab", of: room.application.id, usersAfter: "")
    let alice = try #require(lab?.users.first).id
    let token = try #require(try await room.storage.managed(alice, of: room.application.id)).user.name
    _ = try await room.storage.deleteUsers([token], of: room.application.id, at: room.now)
    #expect(try await groups(in: room) == ["lab 1 0 0"])
    #expect(try await users(of: "lab", in: room) == ["bob"])
  }

  @Test(arguments: StorageEngine.allCases)
  func aGroupIsListedForItsComputersAndCodes(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let other = try await room.storage.createApplication(named: "other", matchCodes: .off, at: room.now)
    let order = JoinOrder(
      application: "shop", secret: Secret("code"), uses: 1, days: 1, isUnattended: true, group: "lab")
    _ = try await room.storage.createJoinCode(order, at: room.now)
    #expect(try await groups(in: room) == ["lab 0 0 1"])
    let request = JoinRequest(
      code: Secret("code"), name: "desk", secret: Secret(Base64.encode(Array(repeating: 9, count: 24))))
    _ = try await room.storage.join(ReceivedJoinRequest(request: request, address: "192.0.2.7"), at: room.now)
    // The code is used up.
    #expect(try await groups(in: room) == ["lab 0 1 0"])
    #expect(try await room.storage.groups(of: other.id, after: "", matching: "")?.groups == [])
    let desk = try #require(try await room.storage.computers(ComputerSearch(), at: room.now).first).credential
    _ = try await room.storage.revokeCredential(desk.id, of: room.application.id, at: room.now)
    #expect(try await groups(in: room).isEmpty)
    let later = JoinOrder(
      application: "shop", secret: Secret("two"), uses: 2, days: 1, isUnattended: true, group: "office")
    _ = try await room.storage.createJoinCode(later, at: room.now)
    #expect(try await groups(in: room) == ["office 0 0 1"])
    room.clock.advance(seconds: 86_400)
    #expect(try await groups(in: room).isEmpty)
  }

  @Test(arguments: StorageEngine.allCases) func groupsAndTheirUsersComeInPages(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for number in 100..<220 { try await list("user\(number)", ["all", "g\(number)"], in: room) }
    try await list("Zoe", ["all", "Zoo"], in: room)
    var found: [String] = []
    var place: String? = ""
    while let after = place {
      let page = try #require(try await room.storage.groups(of: room.application.id, after: after, matching: ""))
      found += page.groups.map(\.name)
      place = page.further
    }
    // Sorted by their bytes, by both engines.
    #expect(found == ["Zoo", "all"] + (100..<220).map { "g\($0)" })
    #expect(try await groups(matching: "ZO", in: room) == ["Zoo 1 0 0"])
    #expect(try await groups(matching: "g21", in: room).count == 10)
    #expect(try await groups(matching: "%", in: room).isEmpty)
    var names: [String] = []
    place = ""
    while let after = place {
      let page = try #require(try await room.storage.group("all", of: room.application.id, usersAfter: after))
      #expect(page.users.count <= UserSummary.pageLength && page.group.users == 121)
      names += page.users.compactMap(\.known.name)
      place = page.further
    }
    #expect(names == ["Zoe"] + (100..<220).map { "user\($0)" })
    #expect(try await room.storage.group("nobody", of: room.application.id, usersAfter: "") == nil)
    #expect(try await room.storage.groups(of: "nothing", after: "", matching: "") == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func changesAtOnceAreAllCounted(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let made = try await room.wins { connection, number in
      let order = UserListOrder(application: "shop", name: "user\(number)", groups: ["lab", "g\(number % 2)"])
      return (try? await connection.listUser(order)) != nil
    }
    #expect(made == 10)
    #expect(try await groups(in: room) == ["g0 5 0 0", "g1 5 0 0", "lab 10 0 0"])
  }

  /// A database from before has the groups as a text of each user.
  @Test(arguments: StorageEngine.allCases)
  func whatWasThereBeforeIsFilledIn(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for number in 100..<160 {
      try await list("user\(number)", number % 2 == 0 ? ["lab", "office"] : ["lab"], in: room)
    }
    try await list("zoe", in: room)
    try await room.storage.removeListedUser("user100", of: "shop", at: room.now)
    let order = JoinOrder(application: "shop", secret: Secret("code"), uses: 1, days: 1, isUnattended: true, group: "x")
    _ = try await room.storage.createJoinCode(order, at: room.now)
    let before = try await groups(in: room)
    #expect(before == ["lab 59 0 0", "office 29 0 0", "x 0 0 1"])
    try await forget(in: room)
    let storage = try room.opened()
    #expect(try await groups(in: room, on: storage) == before)
    #expect(try await users(of: "office", after: "user156", in: room, on: storage) == ["user158"])
    // Changes count from there.
    try await list("user158", [], in: room, on: storage)
    #expect(try await groups(matching: "office", in: room, on: storage) == ["office 28 0 0"])
  }

  /// Takes the database back to where it was before groups had tables.
  private func forget(in room: StorageFixture) async throws {
    switch room.engine {
    case .sqlite:
      let database = try DatabaseQueue(path: room.folder + "/iampass.sqlite")
      try await database.write { db in
        let triggers = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for name in triggers where name.hasPrefix("group_") { try db.execute(sql: "DROP TRIGGER \(name)") }
        try db.execute(
          sql: """
            DROP TABLE group_member;
            DROP TABLE user_group;
            DROP INDEX computer_of_group;
            DROP INDEX join_code_of_group;
            DELETE FROM grdb_migrations WHERE identifier = 'user groups';
            """)
      }
      try database.close()
    case .postgresql:
      let connection = try PostgreSQLConnection(
        to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
      try connection.run(
        script: """
          DROP FUNCTION keep_group_members, note_computer_group, count_group_members CASCADE;
          DROP TABLE group_member, user_group;
          DROP INDEX computer_of_group, join_code_of_group;
          DELETE FROM schema_migration WHERE name = 'user groups';
          """)
    }
  }
}
