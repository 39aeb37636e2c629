import Foundation
import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import Testing

@testable import IAMPASSServer

/// A database of the last released version, brought up to date.
@Suite struct UpgradeTests {
  private static let fileName = "/iampass.sqlite"

  /// A data directory as that version left it.
  private final class Released: Sendable {
    let clock = TestClock()
    let folder: String
    /// The names of the columns of each table.
    let columns: [String: [String]]

    init() throws {
      folder = TestFolder.path + "/iampass-test-" + (try #require(Digest.randomIdentifier()))
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      var configuration = Configuration()
      configuration.foreignKeysEnabled = false
      let database = try DatabaseQueue(path: folder + UpgradeTests.fileName, configuration: configuration)
      columns = try database.write { db in
        try db.execute(sql: ReleasedDatabase.version09)
        let tables = try String.fetchAll(
          db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'grdb_migrations'")
        return try Dictionary(uniqueKeysWithValues: tables.map { ($0, try db.columns(in: $0).map(\.name)) })
      }
      try database.close()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// The rows of each table in the columns that the released version had.
    func rows(in db: Database) throws -> [String: [String]] {
      try Dictionary(
        uniqueKeysWithValues: columns.map { table, names in
          let values = names.map { "quote(\($0))" }.joined(separator: " || ',' || ")
          return (table, try String.fetchAll(db, sql: "SELECT \(values) FROM \(table) ORDER BY 1"))
        })
    }

    func upgraded() throws -> SQLiteStorage { try SQLiteStorage(folder: folder, clocks: clock.clocks) }
  }

  @Test func nothingStoredIsLostOrChanged() async throws {
    let released = try Released()
    let database = try DatabaseQueue(path: released.folder + Self.fileName)
    let before = try await database.read { try released.rows(in: $0) }
    try database.close()
    #expect(before.count > 15)
    #expect(before.allSatisfy { !$0.value.isEmpty })
    let storage = try released.upgraded()
    #expect(try await storage.read { try released.rows(in: $0) } == before)
    try storage.checkWhole()
  }

  @Test func theFormIsANewDatabases() async throws {
    let upgraded = try await Released().upgraded().read { try Self.objects(in: $0) }
    let new = try DatabaseQueue()
    try Schema.migrator.migrate(new)
    #expect(try await new.read { try Self.objects(in: $0) } == upgraded)
  }

  private static func objects(in db: Database) throws -> Set<String> {
    try String.fetchSet(
      db, sql: "SELECT name || ': ' || sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'grdb_migrations'")
  }

  @Test func whatIsNewIsFilledFromWhatWasThere() async throws {
    let storage = try Released().upgraded()
    let (late, early, boots) = try await storage.read { db in
      (
        try Int.fetchOne(db, sql: "SELECT count(*) FROM audit WHERE noted_at IS NOT at"),
        try Int.fetchOne(db, sql: "SELECT count(*) FROM spent_nonce WHERE spent_at IS NOT forget_at - 600000"),
        try Int.fetchOne(db, sql: "SELECT count(*) FROM session WHERE boot_id IS NOT NULL")
      )
    }
    #expect(late == 0 && early == 0 && boots == 0)
  }

  @Test func everySettingIsAuditedFromNowOn() async throws {
    let storage = try Released().upgraded()
    let fixed = ["id", "name", "secret", "created_at"]
    let count = try await storage.write { db in
      let settings = try db.columns(in: "application").filter { !fixed.contains($0.name) }
      for setting in settings {
        let value = setting.type == "TEXT" ? "\(setting.name) || 'x'" : "coalesce(\(setting.name), 0) + 1"
        try db.execute(sql: "UPDATE application SET \(setting.name) = \(value) WHERE name = 'office'")
      }
      return settings.count
    }
    let told = try await storage.auditEntries(after: 0).suffix(count)
    #expect(count > 6)
    #expect(told.allSatisfy { $0.event == "settings changed" && $0["reason"]?.isEmpty == false })
  }

  @Test func whatWasLiveGoesOn() async throws {
    let released = try Released()
    let storage = try released.upgraded()
    let now = storage.now()
    let sessions = try await storage.read { db in
      try db.all("SELECT * FROM session WHERE ended_at IS NULL").map(Session.init(row:))
    }
    #expect(sessions.first { $0.id == "s1" }?.lifecycle.status == .active)
    #expect(sessions.first { $0.id == "s3" }?.lifecycle.status == .walkaway)
    #expect(try await storage.read { try Phone.live(of: 1, in: $0).first?.id } == "p1")
    #expect(try await storage.read { try HostCredential.find("c1", in: $0)?.isRevoked } == false)
    _ = try await storage.read { try PushTargets.token(in: $0, Seals(keys: nil)) }
    let isSpentAgain = try await storage.write { db in
      let forgetAt = UnixTime(seconds: 1_799_999_600)
      return try NonceTimes.useNonce("7", client: "application:a", forgetAt: forgetAt, at: now, in: db)
    }
    #expect(!isSpentAgain)
  }

  @Test func theAuditOutlivesBackupsAndRestores() async throws {
    let released = try Released()
    var storage = try released.upgraded()
    let before = try await storage.auditEntries(after: 0).map(\.textLine)
    #expect(before.count > 20)
    for number in 0..<2 {
      let copy = released.folder + "/copy-\(number)"
      try await storage.backUp(to: copy)
      let folder = released.folder + "/restored-\(number)"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      try FileManager.default.moveItem(atPath: copy, toPath: folder + Self.fileName)
      storage = try SQLiteStorage(folder: folder, clocks: released.clock.clocks)
      #expect(try await storage.beginWithCopy())
      #expect(try await storage.auditEntries(after: 0).map(\.textLine) == before)
      let marks = try await storage.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM restored_copy") }
      #expect(marks == number + 2)
    }
  }
}
