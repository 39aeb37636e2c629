import Foundation
import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// A database whose form is not this program's: commands refuse it, and change nothing in it.
@Suite struct SchemaStateTests {
  private static let hour: Int64 = 3_600

  @Test func aCommandMakesNoTablesInPostgreSQL() throws {
    let url = try StorageEngine.url(of: "/room-" + (try #require(Digest.randomIdentifier())))
    let connection = try Self.connection(url)
    let tables = PostgreSQLCall(
      "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'")
    Self.refuses(.databaseForeign) { try PostgreSQLStorage(existing: url) }
    #expect(try connection.ask([tables])[0].isEmpty)
    // Another program's, which calls a table as the service does.
    try connection.run(script: "CREATE TABLE schema_migration (version bigint)")
    Self.refuses(.databaseForeign) { try PostgreSQLStorage(existing: url) }
    #expect(try connection.ask([tables])[0].map { try $0.text(0) } == ["schema_migration"])
    try connection.run(script: "DROP TABLE schema_migration")
    #expect(try DatabaseMigration.run(url: url) == PostgreSQLSchema.migrations.map(\.name))
    try PostgreSQLStorage(existing: url).close()
    #expect(try DatabaseMigration.run(url: url).isEmpty)
  }

  @Test func aCommandMakesNoTablesInADirectory() throws {
    let folder = try Self.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    Self.refuses(.noDatabase) { try SQLiteStorage(existing: folder) }
    Self.refuses(.noDatabase) { try DatabaseMigration.run(folder: folder) }
    let other = try DatabaseQueue(path: folder + "/iampass.sqlite")
    try other.write { try $0.execute(sql: "CREATE TABLE other (id TEXT)") }
    Self.refuses(.databaseForeign) { try SQLiteStorage(existing: folder) }
    #expect(
      try other.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'") }
        == ["other"])
  }

  @Test func anOlderDatabaseIsLeftAsItIsByCommandsAndMigratedOnDemand() async throws {
    let room = try await StorageFixture(.postgresql)
    let url = try StorageEngine.url(of: room.folder)
    try Self.connection(url).run(
      script: """
        DROP INDEX overdue_session, live_session_of_application, live_session_by_approval, heard_phone, code_use_age,
          link_age, source_block_age;
        DELETE FROM schema_migration WHERE name = 'indices of sessions';
        """)
    room.clock.advance(seconds: 2 * Self.hour)
    let before = try Self.clock(room)
    Self.refuses(.databaseTooOld) { try PostgreSQLStorage(existing: url, clocks: room.clock.clocks) }
    #expect(try Self.clock(room) == before)
    #expect(try DatabaseMigration.run(url: url) == ["indices of sessions"])
    try PostgreSQLStorage(existing: url, clocks: room.clock.clocks).close()
  }

  @Test func anOlderDirectoryIsLeftAsItIsByCommandsAndMigratedOnDemand() throws {
    let folder = try Self.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let database = try DatabaseQueue(path: folder + "/iampass.sqlite")
    try Schema.migrator.migrate(database, upTo: try #require(Schema.migrations.dropLast(2).last).name)
    let before = try database.read(Schema.migrator.appliedIdentifiers)
    Self.refuses(.databaseTooOld) { try SQLiteStorage(existing: folder) }
    #expect(try database.read(Schema.migrator.appliedIdentifiers) == before)
    let missing = Schema.migrations.map(\.name).filter { !before.contains($0) }
    #expect(!missing.isEmpty)
    #expect(try DatabaseMigration.run(folder: folder) == missing)
    try SQLiteStorage(existing: folder).close()
    #expect(try DatabaseMigration.run(folder: folder).isEmpty)
  }

  @Test func nothingIsWrittenToANewerDatabase() async throws {
    let room = try await StorageFixture(.postgresql)
    let url = try StorageEngine.url(of: room.folder)
    try Self.connection(url).run(
      script: "INSERT INTO schema_migration (name, least) VALUES ('later', 99)")
    // The clock would be kept again.
    room.clock.advance(seconds: 2 * Self.hour)
    let before = try Self.clock(room)
    for open in [PostgreSQLStorage.init(url:clocks:), PostgreSQLStorage.init(existing:clocks:)] {
      Self.refuses(.databaseTooNew) { try open(url, room.clock.clocks) }
    }
    Self.refuses(.databaseTooNew) { try DatabaseMigration.run(url: url) }
    #expect(try Self.clock(room) == before)
  }

  @Test func nothingIsWrittenToANewerDirectory() async throws {
    let room = try await StorageFixture(.sqlite)
    let database = try DatabaseQueue(path: room.folder + "/iampass.sqlite")
    try await database.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('later')") }
    room.clock.advance(seconds: 2 * Self.hour)
    let clock = { try await database.read { try StorageClock.stored(in: $0) } }
    let before = try await clock()
    #expect(before != nil)
    for open in [SQLiteStorage.init(folder:clocks:), SQLiteStorage.init(existing:clocks:)] {
      Self.refuses(.databaseTooNew) { try open(room.folder, room.clock.clocks) }
    }
    Self.refuses(.databaseTooNew) { try DatabaseMigration.run(folder: room.folder) }
    #expect(try await clock() == before)
  }

  @Test func aMistypedSourceOfAMoveGetsNoTables() async throws {
    let url = try StorageEngine.url(of: "/room-" + (try #require(Digest.randomIdentifier())))
    let folder = try Self.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    await #expect { try await DatabaseMove.run(from: url, to: folder + "/new") } throws: {
      ($0 as? StorageError)?.code == .databaseForeign
    }
    Self.refuses(.databaseForeign) { try PostgreSQLStorage(existing: url) }
  }

  private static func refuses<Value>(_ code: StorageError.Code, _ work: () throws -> Value) {
    #expect { try work() } throws: { ($0 as? StorageError)?.code == code }
  }

  private static func clock(_ room: StorageFixture) throws -> StorageClock.Anchor? {
    try StorageClock.stored(in: PostgreSQLTransaction(connection(StorageEngine.url(of: room.folder))))
  }

  private static func connection(_ url: String) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: url))
  }

  private static func newFolder() throws -> String {
    let folder = TestFolder.path + "/iampass-form-" + (try #require(Digest.randomIdentifier()))
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    return folder
  }
}
