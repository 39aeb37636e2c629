/// How far the tables of a database have come, as this program sees it.
///
/// The service and `database migrate` alone change a database's form. Any other command refuses one that is not `current`:
/// a mistyped address must get no tables, and a program of an administrator's must not change what the servers work with.
enum DatabaseForm: Equatable, Sendable {
  /// It has no tables of the service: it is empty, or another program's.
  case foreign
  /// Changes that this program knows are missing.
  case older
  case current

  /// Why a command does not work with it; nil if it does.
  func refusal(of path: String) -> StorageError? {
    switch self {
    case .foreign: StorageError(.databaseForeign, path: path)
    case .older: StorageError(.databaseTooOld, path: path)
    case .current: nil
    }
  }
}

/// Brings a database up to date, as the service does when it starts.
public enum DatabaseMigration {
  /// - Parameter folder: a data directory that has a database.
  /// - Returns: the names of the changes that were missing, in their order.
  /// - Throws: ``StorageError``.
  public static func run(folder: String) throws -> [String] {
    let storage = try SQLiteStorage(existing: folder, mayChangeForm: true)
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
