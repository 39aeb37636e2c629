import Foundation
import GRDB
import LocalPostgreSQL

@testable import IAMPASSServer

/// A database with the newest tables, which no service has opened yet. It is made once for all tests: the migrations keep
/// a processor at work for 0.2 s, and there are more than a thousand tests with a database. `UpgradeTests`,
/// `SchemaTests`, `SchemaStateTests`, `PostgreSQLSchemaTests` and `DatabaseMoveTests` try the migrations.
enum EmptyDatabase {
  private static let content = Result {
    let path = TestFolder.path + "/iampass-empty-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    let database = try DatabaseQueue(path: path)
    _ = try Schema.bringUpToDate(database)
    try database.close()
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  private struct NotWritten: Error { let path: String }

  /// The address of a schema of PostgreSQL that is or was such a database. One that is there already stays as it is.
  static func url(ofSchema name: String) throws -> String {
    try LocalPostgreSQL.url(schema: name) { _ = try PostgreSQLSchema.migrate($0) }
  }

  /// Puts SQLite's into the folder, unless that has a database.
  static func put(in folder: String) throws {
    let path = folder + "/" + SQLiteStorage.fileName
    guard !FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let content = try content.get()
    guard FileManager.default.createFile(atPath: path, contents: content, attributes: [.posixPermissions: 0o600]) else {
      throw NotWritten(path: path)
    }
  }
}
