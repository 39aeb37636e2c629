/// The version of a database's tables, as this program sees it.
///
/// Only the service and `database migrate` change a database's form. Other commands refuse a database that is not
/// `current`: a mistyped address must not get tables, and an administrator's program must not change the tables of
/// running servers.
enum SchemaState: Equatable, Sendable {
  /// The database does not have the service's tables: it is empty, or another program's.
  case foreign
  /// Changes that this program knows are missing.
  case older
  case current

  /// Why a command refuses the database; nil if it does not.
  func refusal(of path: String) -> StorageError? {
    switch self {
    case .foreign: StorageError(.databaseForeign, path: path)
    case .older: StorageError(.databaseTooOld, path: path)
    case .current: nil
    }
  }
}

/// Migrates a database, as the service does when it starts.
public enum DatabaseMigration {
  /// - Parameter folder: a data folder with a database.
  /// - Returns: the names of the changes that were missing, in their order.
  /// - Throws: ``StorageError``.
  public static func run(folder: String) throws -> [String] {
    let storage = try SQLiteStorage(existing: folder, mayMigrate: true)
    defer { try? storage.close() }
    return storage.changes
  }

  /// - Parameter url: `postgresql://…`, without a password. An empty database gets all tables.
  /// - Returns: the names of the changes that were missing, in their order.
  /// - Throws: ``StorageError``.
  public static func run(url: String) throws -> [String] {
    let storage = try PostgreSQLStorage(url: url)
    defer { storage.close() }
    return storage.changes
  }
}
