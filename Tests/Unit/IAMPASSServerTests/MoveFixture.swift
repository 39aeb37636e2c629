import Foundation
import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// A database of the last release, with rows in every table that it had, and an empty PostgreSQL database.
final class MoveFixture: Sendable {
  let clock = TestClock()
  let folder: String
  let url: String

  init() async throws {
    folder = Self.newFolder()
    url = try StorageEngine.url(of: folder)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for (name, content) in try await MoveFixture.files.value {
      let isMade = FileManager.default.createFile(
        atPath: folder + "/" + name, contents: content, attributes: [.posixPermissions: 0o600])
      try #require(isMade)
    }
  }

  /// What each folder begins with, by the files' names. It is made once: bringing it up to date takes 0.2 s.
  private static let files: Task<[String: Data], any Error> = Task.detached {
    let folder = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try await MoveFixture.fill(folder)
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      files[name] = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
    }
    return files
  }

  private static func fill(_ folder: String) async throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let database = try DatabaseQueue(path: folder + "/iampass.sqlite", configuration: configuration)
    try await database.write { try $0.execute(sql: ReleasedDatabase.version09) }
    try database.close()
    // What came after that release, by the service itself.
    let storage = try SQLiteStorage(folder: folder, clocks: TestClock().clocks)
    _ = try await storage.publishedKeys(at: storage.now())
    _ = try await storage.addUsers(
      ["carol"], called: [.init(user: "carol", text: "Carol Stra\u{DF}e")], to: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1")
    try storage.close()
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  static func newFolder() -> String {
    TestFolder.path + "/iampass-move-" + (Digest.randomIdentifier() ?? "")
  }

  func opened() throws -> SQLiteStorage { try SQLiteStorage(folder: folder, clocks: clock.clocks) }

  func ends() throws -> (SQLiteMoveEnd, PostgreSQLMoveEnd) {
    let postgresql = try PostgreSQLStorage(url: url, isMoving: true)
    let tables = try postgresql.pool.lend {
      try PostgreSQLTable.all(in: $0, except: PostgreSQLMoveEnd.ownTables)
    }
    let sqlite = try SQLiteStorage(folder: folder, clocks: clock.clocks, isMoving: true)
    return (
      SQLiteMoveEnd(storage: sqlite, place: folder, tables: tables),
      PostgreSQLMoveEnd(storage: postgresql, place: url, tables: tables)
    )
  }

  /// All rows of all tables, with what SQLite has in place of PostgreSQL's numbers. The clock goes on meanwhile.
  static func rows(in folder: String) throws -> [String: [String]] {
    let database = try DatabaseQueue(path: folder + "/iampass.sqlite")
    return try database.read { db in
      let tables = try String.fetchAll(
        db,
        sql: """
          SELECT name FROM sqlite_master WHERE type = 'table'
            AND name NOT IN ('grdb_migrations', 'database_move', 'service_clock')
          """)
      return try Dictionary(
        uniqueKeysWithValues: tables.map { table in
          let isNumbered = ["phone", "link", "session", "answer", "host_boot", "signing_key"].contains(table)
          var columns = try db.columns(in: table).map { "quote(\"\($0.name)\")" }
          if isNumbered { columns.append("rowid") }
          let values = columns.joined(separator: " || ',' || ")
          return (table, try String.fetchAll(db, sql: "SELECT \(values) FROM \"\(table)\" ORDER BY 1"))
        })
    }
  }

  /// Texts that a wrong quotation, an end of a line or a missing value would change.
  private static let texts = [
    "it's \"quoted\" \\ \\N \\. $1", "", "a\ttab,\na line\r\nand one more", "\u{1F511} u\u{308}", "NULL",
  ]

  /// Gives rows to each table that has none. Rows name rows of other tables as the foreign keys ask.
  func fillEmptyTables() throws {
    let database = try DatabaseQueue(path: folder + "/iampass.sqlite")
    try database.write { db in
      let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
      // Tables come after those that they name rows of, at the latest in the third round.
      for table in tables + tables + tables where !["database_move", "grdb_migrations"].contains(table) {
        if try Int.fetchOne(db, sql: "SELECT count(*) FROM \"\(table)\"") == 0 {
          for number in Self.texts.indices { try Self.add(number, to: table, db) }
        }
      }
    }
    try database.close()
  }

  private static func add(_ number: Int, to table: String, _ db: Database) throws {
    var named: [String: DatabaseValue] = [:]
    for key in try db.foreignKeys(on: table) {
      for (origin, destination) in key.mapping {
        let sql = "SELECT \"\(destination)\" FROM \"\(key.destinationTable)\" ORDER BY 1"
        let values = try DatabaseValue.fetchAll(db, sql: sql)
        guard !values.isEmpty else { return }
        named[origin] = values[number % values.count]
      }
    }
    let columns = try db.columns(in: table)
    let values: [DatabaseValue] = columns.enumerated().map { place, column in
      if let value = named[column.name] { return value }
      if !column.isNotNull, column.primaryKeyIndex == 0, (number + place) % 3 == 0 { return .null }
      // The audit's triggers read these.
      if ["code_use.context", "signed_list.head"].contains("\(table).\(column.name)") { return "{}".databaseValue }
      if column.type == "TEXT" { return texts[(number + place) % texts.count].databaseValue }
      return (column.primaryKeyIndex > 0 ? number + 1 : -number * 1_000_000_007 - place).databaseValue
    }
    let names = columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    let places = columns.map { _ in "?" }.joined(separator: ", ")
    // A second row of the only parent is left out.
    try db.execute(
      sql: "INSERT OR IGNORE INTO \"\(table)\" (\(names)) VALUES (\(places))", arguments: StatementArguments(values))
  }
}
