import GRDB
import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// The lines of a group's signed list, which each engine finds by an index.
@Suite struct SignedGroupTests {
  /// Makes these users the application's signed list, without a signature.
  private func keep(_ users: [(name: String, groups: [String])], at serial: Int64, in room: StorageFixture) async throws
  {
    let (application, now, id) = (room.application.id, room.now, "order \(serial)")
    let lines = users.map { SignedLine(name: $0.name, groups: UserListOrder.stored($0.groups), text: "{}") }
    try await room.storage.changeSigning { rows in
      let order = DocumentOrder(.users(application: application), by: "ada")
      try rows.add(StoredOrder(id: id, order: order, orderedAt: now))
      for line in lines { try rows.addDraft(line, to: id) }
      try rows.takeDraft(of: id, to: application, at: serial)
    }
  }

  private func names(
    of group: String, at serial: Int64, after name: String = "", limit: Int64 = 10, in room: StorageFixture,
    on connection: (any ServiceStorage)? = nil
  ) async throws -> [String] {
    let application = room.application.id
    return try await (connection ?? room.storage).seeSigning {
      try $0.lines(of: application, at: serial, group: group, after: name, limit: limit)
    }.map(\.name)
  }

  @Test(arguments: StorageEngine.allCases) func aGroupHasItsLinesOfEachList(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await keep(
      [("alice", ["lab"]), ("bob", []), ("carol", ["lab", "office"]), ("dora", ["Lab", "lab", "lab"])], at: 1, in: room)
    try await keep([("alice", ["lab"]), ("carol", ["office"]), ("eve", ["lab"])], at: 2, in: room)
    #expect(try await names(of: "lab", at: 1, in: room) == ["alice", "carol", "dora"])
    #expect(try await names(of: "lab", at: 2, in: room) == ["alice", "eve"])
    #expect(try await names(of: "office", at: 1, in: room) == ["carol"])
    #expect(try await names(of: "Lab", at: 1, in: room) == ["dora"])
    #expect(try await names(of: "", at: 2, in: room) == ["alice", "carol", "eve"])
    #expect(try await names(of: "nobody", at: 2, in: room).isEmpty)
    // Two lines a page.
    #expect(try await names(of: "lab", at: 1, limit: 2, in: room) == ["alice", "carol"])
    #expect(try await names(of: "lab", at: 1, after: "carol", limit: 2, in: room) == ["dora"])
  }

  @Test(arguments: StorageEngine.allCases)
  func whatIsForgottenLeavesNothing(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await keep([("alice", ["lab"]), ("bob", ["lab", "office"])], at: 1, in: room)
    try await keep([("alice", ["lab"])], at: 2, in: room)
    #expect(try await members(in: room) == 3)
    let application = room.application.id
    try await room.storage.changeSigning { try $0.forgetLists(of: application, before: 2) }
    #expect(try await members(in: room) == 1)
    try await room.storage.changeSigning { try $0.forgetSigning() }
    #expect(try await members(in: room) == 0)
  }

  /// A database from before has the groups as a text of each line.
  @Test(arguments: StorageEngine.allCases)
  func linesFromBeforeAreFoundByTheirGroups(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await keep([("alice", ["lab"]), ("bob", []), ("carol", ["lab", "office"])], at: 1, in: room)
    try await forget(in: room)
    let storage = try room.opened()
    #expect(try await names(of: "lab", at: 1, in: room, on: storage) == ["alice", "carol"])
    #expect(try await members(in: room) == 3)
  }

  private func members(in room: StorageFixture) async throws -> Int64 {
    switch room.engine {
    case .sqlite:
      let database = try DatabaseQueue(path: room.folder + "/iampass.sqlite")
      let count = try await database.read { try Int64.fetchOne($0, sql: "SELECT count(*) FROM signed_member") }
      try database.close()
      return try #require(count)
    case .postgresql:
      let connection = try PostgreSQLConnection(
        to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
      let rows = try connection.run([PostgreSQLCall("SELECT count(*) AS count FROM signed_member")])[0]
      return try #require(rows.first).get("count")
    }
  }

  /// Takes the database back to where it was before groups of signed lists had a table.
  private func forget(in room: StorageFixture) async throws {
    try await room.undo(
      "signed members",
      sqlite: """
        DROP TRIGGER signed_members_come;
        DROP TRIGGER signed_members_go;
        DROP TABLE signed_member;
        """,
      postgreSQL: """
        DROP FUNCTION keep_signed_members CASCADE;
        DROP TABLE signed_member;
        """)
  }
}
