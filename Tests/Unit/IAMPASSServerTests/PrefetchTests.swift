import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// What ``StorageTransaction/prefetch(_:)`` promises, with either engine.
@Suite struct PrefetchTests {
  @Test(arguments: StorageEngine.allCases) func aChangeIsSeenByWhatWasAskedAhead(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let user = try await room.addUser()
    let application = room.application.id
    if let storage = room.storage as? PostgreSQLStorage {
      #expect(try await storage.write { try Self.named(user, application, in: $0) } == ["alice", "bob"])
    } else {
      let storage = try #require(room.storage as? SQLiteStorage)
      #expect(try await storage.write { try Self.named(user, application, in: $0) } == ["alice", "bob"])
    }
  }

  /// The user's name before and after a change.
  private static func named(_ user: Int64, _ application: String, in db: some StorageTransaction) throws -> [String?] {
    try db.prefetch { _ = try User.find(user, application: application, in: $0) }
    let before = try User.find(user, application: application, in: db)?.name
    try db.execute("UPDATE app_user SET name = 'bob' WHERE id = $1", user)
    return [before, try User.find(user, application: application, in: db)?.name]
  }

  @Test func aChangeAmongQuestionsIsNotDone() async throws {
    let room = try await StorageFixture(.postgresql)
    let user = try await room.addUser()
    let storage = try #require(room.storage as? PostgreSQLStorage)
    try await storage.write { db in
      try db.prefetch { db in
        _ = try db.has("SELECT 1 FROM app_user WHERE id = $1", user)
        try db.execute("UPDATE app_user SET name = 'bob' WHERE id = $1", user)
      }
      #expect(!db.hasChanged)
    }
    #expect(try await room.storage.managed(user, of: room.application.id)?.user.name == "alice")
  }

  @Test func aQuestionThatFailsAmongOthersFailsTheWhole() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    await #expect(throws: PostgreSQLError.self) {
      try await storage.write { db in
        try db.execute("INSERT INTO service_fact (name, value) VALUES ('half', 'done')")
        try db.prefetch { db in
          _ = try db.has("SELECT 1 FROM service_fact")
          _ = try db.has("SELECT 1 / (SELECT 0)")
        }
      }
    }
    #expect(try await storage.read { try $0.all("SELECT value FROM service_fact WHERE name = 'half'").isEmpty })
  }
}
