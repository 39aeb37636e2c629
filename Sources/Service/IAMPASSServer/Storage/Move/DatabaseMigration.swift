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
