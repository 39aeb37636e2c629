import GRDB
import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// The contract of users' lists, which each engine keeps.
@Suite struct StorageUserListTests {
  private func list(_ name: String, _ groups: [String]? = nil, in room: StorageFixture) async throws -> ListedUser {
    try await room.storage.listUser(UserListOrder(application: "shop", name: name, groups: groups))
  }

  private func page(
    since: Int64 = 0, after: String = "", group: String = "", in room: StorageFixture
  ) async throws -> UserListReply {
    try await room.storage.userListPage(
      UserListQuery(requester: "own", application: room.application.id, group: group, since: since, after: after)
    ).page
  }

  private func words(_ page: UserListReply) -> [String] {
    page.changes.map { change in
      if case .removed(let name) = change { "-\(name)" } else { "+\(change.name)" }
    }
  }

  @Test(arguments: StorageEngine.allCases) func aListedUserHasATokenOfTheService(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    #expect(try await list("alice", in: room).isNew)
    #expect(try await list("alice", in: room).isNew == false)
    let page = try await page(in: room)
    #expect(words(page) == ["+alice"])
    #expect((page.count, page.since, page.hasMore) == (1, 0, false))
    guard case .listed(_, let token)? = page.changes.first else { return }
    #expect(try await room.storage.user(token.exposedValue, of: room.application.id) != nil)
    #expect(try await room.events().contains("user listed"))
  }

  @Test(arguments: StorageEngine.allCases) func severalAreFoundByTheirNames(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for name in ["alice", "bob", "carol"] { _ = try await list(name, ["staff"], in: room) }
    try await room.storage.removeListedUser("carol", of: "shop", at: room.now)
    let found = try await room.storage.listedUsers(["bob", "Alice", "carol", "alice"], of: room.application.id)
    #expect(found.map(\.name) == ["bob", "alice"])
    #expect(found.map(\.groups) == [["staff"], ["staff"]])
    #expect(found.allSatisfy { !$0.isNew && !$0.hasPhone })
    #expect(try await room.storage.listedUsers(["bob"], of: "another").isEmpty)
    #expect(try await room.storage.listedUsers([], of: room.application.id).isEmpty)
  }

  @Test(arguments: StorageEngine.allCases) func onlyWhatChangedIsTold(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for name in ["alice", "bob", "carol"] { _ = try await list(name, in: room) }
    let first = try await page(in: room)
    #expect(words(first) == ["+alice", "+bob", "+carol"])
    #expect(words(try await page(since: first.version, in: room)).isEmpty)
    try await room.storage.removeListedUser("bob", of: "shop", at: room.now)
    _ = try await list("dave", in: room)
    let second = try await page(since: first.version, in: room)
    #expect(words(second) == ["-bob", "+dave"])
    #expect(second.count == 3)
    #expect(second.version > first.version)
    #expect(words(try await page(in: room)) == ["+alice", "+carol", "+dave"])
    // Back again, as somebody else.
    #expect(try await list("bob", in: room).isNew)
    #expect(words(try await page(since: second.version, in: room)) == ["+bob"])
  }

  @Test(arguments: StorageEngine.allCases)
  func whoeverIsDeletedInWhateverWayLeavesTheList(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await list("alice", in: room)
    let before = try await page(in: room)
    guard case .listed(_, let token)? = before.changes.first else { return }
    _ = try await room.storage.deleteUsers([token.exposedValue], of: room.application.id, at: room.now)
    #expect(words(try await page(since: before.version, in: room)) == ["-alice"])
    #expect(try await room.storage.userListVersions()[room.application.id] ?? 0 > before.version)
  }

  @Test(arguments: StorageEngine.allCases) func aGroupsComputerHasItsUsersAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await list("alice", ["lab"], in: room)
    _ = try await list("bob", ["office", "lab"], in: room)
    _ = try await list("carol", in: room)
    #expect(words(try await page(group: "lab", in: room)) == ["+alice", "+bob"])
    #expect(try await page(group: "lab", in: room).count == 2)
    #expect(words(try await page(group: "la", in: room)).isEmpty)
    #expect(words(try await page(in: room)) == ["+alice", "+bob", "+carol"])
    let before = try await page(group: "lab", in: room)
    _ = try await list("bob", ["office"], in: room)
    #expect(words(try await page(since: before.version, group: "lab", in: room)) == ["-bob"])
    // Without groups they stay as they are.
    #expect(try await list("bob", in: room).groups == ["office"])
  }

  @Test(arguments: StorageEngine.allCases)
  func whoeverComesBackHasNoGroupsOfBefore(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await list("alice", ["lab"], in: room)
    try await room.storage.removeListedUser("alice", of: "shop", at: room.now)
    #expect(try await list("alice", in: room).groups.isEmpty)
    #expect(words(try await page(group: "lab", in: room)).isEmpty)
    #expect(words(try await page(in: room)) == ["+alice"])
    _ = try await list("alice", ["lab"], in: room)
    #expect(try await list("alice", [], in: room).groups.isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func aGroupsComputerLearnsNoOthersNames(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await list("alice", ["lab"], in: room)
    _ = try await list("bob", ["office", "lab"], in: room)
    _ = try await list("carol", ["office"], in: room)
    _ = try await list("dave", in: room)
    #expect(words(try await page(since: 1, group: "lab", in: room)) == ["+alice", "+bob"])
    // Whoever was of the group is taken away, however they left it.
    _ = try await list("bob", ["office"], in: room)
    try await room.storage.removeListedUser("alice", of: "shop", at: room.now)
    _ = try await list("alice", in: room)
    _ = try await list("carol", ["office", "lab"], in: room)
    #expect(words(try await page(since: 1, group: "lab", in: room)) == ["-alice", "-bob", "+carol"])
    #expect(words(try await page(since: 1, group: "la", in: room)).isEmpty)
    #expect(words(try await page(since: 1, in: room)) == ["+alice", "+bob", "+carol", "+dave"])
  }

  @Test(arguments: StorageEngine.allCases) func manyUsersComeInPages(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for number in 0..<40 { _ = try await list("user\(number)", in: room) }
    let ask = UserListQuery(requester: "own", application: room.application.id, group: "", since: 0, after: "")
    let rows = (0..<2_000).map {
      UserListRow(name: "u\(10_000 + $0)", token: String(repeating: "t", count: 100), groups: " ")
    }
    let cut = ask.page(of: rows, version: 1, count: 2_000)
    #expect(cut.hasMore)
    #expect(cut.encoded().count < 60_000)
    var names: [String] = []
    var after = ""
    repeat {
      let page = try await page(after: after, in: room)
      names += page.changes.map(\.name)
      guard page.hasMore else { break }
      after = names.last ?? ""
    } while true
    #expect(names.count == 40)
    #expect(names == names.sorted())
  }

  @Test(arguments: StorageEngine.allCases) func aGroupsUsersComeInPages(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for (name, groups) in [("alice", ["lab"]), ("bob", []), ("carol", ["lab", "x"]), ("dave", ["lab"])] {
      _ = try await list(name, groups, in: room)
    }
    #expect(words(try await page(after: "alice", group: "lab", in: room)) == ["+carol", "+dave"])
    #expect(words(try await page(after: "dave", group: "lab", in: room)).isEmpty)
    let before = try await page(group: "lab", in: room)
    for name in ["alice", "carol", "dave"] { _ = try await list(name, ["lab", "y"], in: room) }
    let changes = try await page(since: before.version, after: "alice", group: "lab", in: room)
    #expect(words(changes) == ["+carol", "+dave"])
  }

  /// Nothing counts the users when a computer asks.
  @Test(arguments: StorageEngine.allCases) func theCountFollowsTheList(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    func count(_ group: String = "") async throws -> Int64 { try await page(group: group, in: room).count }
    #expect(try await count() == 0)
    for name in ["alice", "bob", "carol"] { _ = try await list(name, ["lab"], in: room) }
    _ = try await list("carol", [], in: room)
    #expect(try await (count(), count("lab"), count("nobody")) == (3, 2, 0))
    try await room.storage.removeListedUser("bob", of: "shop", at: room.now)
    #expect(try await (count(), count("lab")) == (2, 1))
    // Back again, and a token that names nobody.
    _ = try await list("bob", in: room)
    _ = try await room.storage.deleteUsers(["unknown"], of: room.application.id, at: room.now)
    #expect(try await (count(), count("lab")) == (3, 1))
    let made = try await room.wins { connection, number in
      (try? await connection.listUser(UserListOrder(application: "shop", name: "u\(number)", groups: nil))) != nil
    }
    #expect(made == 10)
    #expect(try await count() == 13)
    #expect(try await count() == Int64(room.storage.listedUsers(of: "shop").count))
  }

  /// A database from before has no counts.
  @Test(arguments: StorageEngine.allCases) func whatIsThereIsCounted(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for name in ["alice", "bob", "carol"] { _ = try await list(name, in: room) }
    try await room.storage.removeListedUser("bob", of: "shop", at: room.now)
    try await forgetCounts(in: room)
    let storage = try room.opened()
    func count() async throws -> Int64 {
      try await storage.userListPage(
        UserListQuery(requester: "own", application: room.application.id, group: "", since: 0, after: "")
      ).page.count
    }
    #expect(try await count() == 2)
    try await storage.removeListedUser("alice", of: "shop", at: room.now)
    #expect(try await count() == 1)
  }

  /// Takes the database back to where it was before lists had counts.
  private func forgetCounts(in room: StorageFixture) async throws {
    try await room.undo(
      "list counts",
      sqlite: """
        DROP TRIGGER list_grows;
        DROP TRIGGER list_changes;
        DROP TRIGGER list_shrinks;
        ALTER TABLE user_list DROP COLUMN users;
        DROP INDEX signed_line_first;
        DROP INDEX signed_line_last;
        """,
      postgreSQL: """
        DROP FUNCTION count_listed_users CASCADE;
        ALTER TABLE user_list DROP COLUMN users;
        DROP INDEX listed_user_by_name, signed_line_first, signed_line_last;
        """)
  }

  @Test(arguments: StorageEngine.allCases) func aLinkIsForTheListedUsersPhone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await list("alice", in: room)
    let code = try #require(
      try await room.storage.invitation(ofListed: "alice", of: "shop", isFurther: false, at: room.now))
    _ = try await room.storage.register(
      try StorageFixture.newPhone(), by: code, at: room.now, deciding: StorageFixture.unusedLink
    ).get()
    #expect(try await room.storage.invitation(ofListed: "alice", of: "shop", isFurther: false, at: room.now) == nil)
    func further() async throws -> Secret? {
      try await room.storage.invitation(ofListed: "alice", of: "shop", isFurther: true, at: room.now)
    }
    #expect(try await further() == nil)
    try await room.storage.changeSettings(of: room.application.id) { $0.phones = 2 }
    #expect(try await further() != nil)
    #expect(try await room.storage.listedUsers(of: "shop").map(\.hasPhone) == [true])
  }

  @Test(arguments: StorageEngine.allCases) func badNamesAreRefused(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for name in ["", "root", "-a", "a b", "a:b", "a/b", "ä", String(repeating: "a", count: 65)] {
      await #expect(throws: UserListRefusal.nameNotFit) { try await list(name, in: room) }
    }
    await #expect(throws: UserListRefusal.groupNotFit) { try await list("alice", ["a b"], in: room) }
    await #expect(throws: UserListRefusal.unknownUser) {
      try await room.storage.removeListedUser("nobody", of: "shop", at: room.now)
    }
  }
}
