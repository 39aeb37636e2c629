import Foundation
import GRDB
import LocalPostgreSQL
import Testing

@testable import IAMPASSServer

@Suite struct StorageTests {
  /// SQLite's values of NORMAL and FULL.
  private static let normal = 1
  private static let full = 2

  private func synchronous(_ db: Database) throws -> Int? { try Int.fetchOne(db, sql: "PRAGMA synchronous") }

  @Test func whatIsWrittenIsOnTheDisk() async throws {
    let storage = try await Fixture().service.storage
    #expect(try await storage.write(synchronous) == Self.full)
    #expect(try await storage.writeWithoutSync(synchronous) == Self.normal)
    #expect(try await storage.write(synchronous) == Self.full)
  }

  /// Housekeeping may wait for its turn while the service stops.
  @Test func whatIsToBeWrittenAfterClosingIsRefused() async throws {
    let storage = try await Fixture().service.storage
    try storage.close()
    await #expect(throws: DatabaseError.self) { try await storage.write { _ in } }
  }

  /// A command makes the database while the service begins, or a setup that was killed still has a command at work.
  @Test func twoProcessesMakeOneDatabase() async throws {
    for _ in 0..<10 {
      let folder = TestFolder.path + "/iampass-made-twice-" + UUID().uuidString
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { try SQLiteStorage(folder: folder).close() } }
        try await group.waitForAll()
      }
    }
  }

  /// As one that makes the tables and gets no rest, for longer than a write waits.
  @Test func anOpeningWaitsForAnotherProcess() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/iampass-made-late-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let other = try DatabaseQueue(path: folder + "/iampass.sqlite", configuration: configuration)
    try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
    async let opened: Void = inAThread { try SQLiteStorage(folder: folder).close() }
    try await Task.sleep(for: .seconds(8))
    try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
    try await opened
  }

  @Test(.enabled(if: geteuid() == 0, "gives a folder to another user"))
  func aFolderOfAnotherUserIsRefusedAndNothingIsLeftThere() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/iampass-of-another-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try #require(chmod(folder, 0o700) == 0 && chown(folder, 65_534, 65_534) == 0)
    let error = #expect(throws: StorageError.self) { try SQLiteStorage(folder: folder) }
    #expect(error?.code == .folderOfAnother)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
  }

  @Test func aUsersIDIsNeverAnothers() async throws {
    let fixture = try await Fixture()
    let application = fixture.application.id
    var ids: [Int64] = []
    for name in ["alice", "eve", "frank"] {
      try await fixture.addUser(name)
      let user = try await fixture.service.storage.read { try User.find(name, application: application, in: $0) }
      let found = try #require(user)
      ids.append(found.id)
      _ = try await fixture.service.storage.deleteUsers([name], of: application, at: fixture.clock.now)
    }
    #expect(ids == [1, 2, 3])
  }

  @Test func theIDsOfAnOlderDatabaseAreNotGivenAgain() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    // As before users' ids were kept: one user was deleted, and the audit still names them.
    try await fixture.service.storage.write { db in
      try db.execute(
        sql: """
          DROP TRIGGER greatest_user_kept; DROP TABLE greatest_user;
          DELETE FROM grdb_migrations WHERE identifier = 'users'' ids used once';
          INSERT INTO audit (at, event, user) VALUES (0, 'user deleted', 41);
          """)
    }
    let storage = try fixture.restarted().storage
    let application = fixture.application.id
    let added = try await storage.write { db in
      _ = try User.add(["frank"], application: application, in: db)
      return try User.find("frank", application: application, in: db)
    }
    #expect(added?.id == 42)
  }
}
