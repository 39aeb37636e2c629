import GRDB
import Glibc

extension RestoredCopy {
  /// Marks the database as a copy.
  static func mark(in db: Database) throws {
    try db.execute(sql: "INSERT INTO restored_copy DEFAULT VALUES")
  }

  static func isNew(in db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM restored_copy WHERE nonces_spent_until IS NULL)") ?? false
  }
}

extension SQLiteStorage {
  /// Whether the database is a copy that no service has used before. Call it once, before the first request.
  public func beginWithCopy() async throws -> Bool {
    // Other starts do not write, and so do not wait for another process.
    guard try await read(RestoredCopy.isNew) else { return false }
    let now = clock.wall()
    let made = clock.unixTime(of: clock.now())
    try await write { try RestoredCopy.begin(at: now, made: made, in: $0) }
    return true
  }

  /// With the file that is at the place by now: whoever has opened the one before it still reads that.
  public func auditHistory() async throws -> String {
    var found = stat()
    guard stat(pool.path, &found) == 0 else {
      throw StorageError(.noDatabase, path: pool.path, detail: String(cString: strerror(errno)))
    }
    let isClosed = try await read { try HistoryMark.isClosed(in: $0) }
    return "\(found.st_dev) \(found.st_ino) \(isClosed)"
  }
}
