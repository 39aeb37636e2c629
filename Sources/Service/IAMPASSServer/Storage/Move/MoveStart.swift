import GRDB
import PostgreSQLLink

extension DatabaseMove {
  /// Moves all data from one database to an empty one of the other engine.
  ///
  /// - Parameters:
  ///   - from: a data folder, or `postgresql://…` without a password, in this program's form.
  ///   - to: the other kind. A folder, or the tables in the database, are made if they are missing.
  /// - Throws: ``MoveRefusal`` and ``StorageError``. Then the data is still in its old place, or a second run completes
  ///   the move.
  public static func run(from: String, to: String) async throws -> MoveReport {
    guard isURL(from) != isURL(to) else { throw MoveRefusal(.sameEngine) }
    let url = isURL(from) ? from : to
    do {
      return isURL(from) ? try fromPostgreSQL(from, to: to) : try await fromSQLite(from, to: to)
    } catch let error as PostgreSQLError {
      throw StorageError(error, url)
    }
  }

  private static func isURL(_ place: String) -> Bool {
    place.hasPrefix("postgresql://") || place.hasPrefix("postgres://")
  }

  private static func fromSQLite(_ folder: String, to url: String) async throws -> MoveReport {
    let source = try SQLiteStorage(existing: folder, isMoving: true)
    defer { try? source.close() }
    // A copy that was put back and that no service has begun with: what may have been used, counts as used.
    if try await source.read(MoveMark.stored) == nil { _ = try await source.beginWithCopy() }
    let destination = try PostgreSQLStorage(url: url, isMoving: true)
    defer { destination.close() }
    return try move(source, folder, destination, url) { DatabaseMove(source: $0, destination: $1, tables: $2) }
  }

  private static func fromPostgreSQL(_ url: String, to folder: String) throws -> MoveReport {
    let source = try PostgreSQLStorage(url: url, isMoving: true, mayMigrate: false)
    defer { source.close() }
    // A standby that was promoted, or a copy that was put back, and that no service has begun with.
    if try source.pool.lend(MoveMark.stored) == nil { _ = try source.beginWithCopy() }
    let destination = try SQLiteStorage(folder: folder, isMoving: true)
    defer { try? destination.close() }
    return try move(destination, folder, source, url) { DatabaseMove(source: $1, destination: $0, tables: $2) }
  }

  private static func move(
    _ sqlite: SQLiteStorage, _ folder: String, _ postgresql: PostgreSQLStorage, _ url: String,
    _ make: (SQLiteMoveEnd, PostgreSQLMoveEnd, [PostgreSQLTable]) -> DatabaseMove
  ) throws -> MoveReport {
    let tables = try postgresql.pool.lend {
      try PostgreSQLTable.all(in: $0, except: PostgreSQLMoveEnd.ownTables)
    }
    return try make(
      SQLiteMoveEnd(storage: sqlite, place: folder, tables: tables),
      PostgreSQLMoveEnd(storage: postgresql, place: url, tables: tables), tables
    ).run()
  }
}
