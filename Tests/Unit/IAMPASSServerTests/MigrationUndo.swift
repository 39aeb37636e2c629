import GRDB
import PostgreSQLLink

@testable import IAMPASSServer

extension StorageFixture {
  /// Takes the database back to where it was before a migration, by statements that drop what it made. Whoever opens it
  /// next makes it again.
  func undo(_ migration: String, sqlite: String, postgreSQL: StaticString) async throws {
    switch engine {
    case .sqlite:
      let database = try DatabaseQueue(path: folder + "/" + SQLiteStorage.fileName)
      try await database.write { db in
        try db.execute(sql: sqlite)
        try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [migration])
      }
      try database.close()
    case .postgresql:
      let connection = try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
      try connection.run(script: postgreSQL)
      _ = try connection.run([PostgreSQLCall("DELETE FROM schema_migration WHERE name = $1", .text(migration))])
    }
  }
}
