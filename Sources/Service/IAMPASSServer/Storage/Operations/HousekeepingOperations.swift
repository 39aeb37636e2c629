import GRDB
import IAMPASSProtocol

extension SQLiteStorage: HousekeepingStore {
  func forgetOld(at now: UnixTime, wall: UnixTime) async throws {
    try await write { db in
      try SpentNonces.prune(at: now, wall: wall, in: db)
      try Link.prune(at: now, in: db)
      try SourceBlock.prune(at: now, in: db)
      try KeptAnswer.prune(at: now, in: db)
      try Session.prune(at: now, in: db)
      try AuditEntry.prune(at: now, in: db)
      try CodeUse.prune(at: now, in: db)
      try ConsoleAccess.prune(at: now, in: db)
    }
  }

  func stock() async throws -> StorageStock { try await read(StorageStock.init(in:)) }

  func answer() async throws { _ = try await read { try Int64.fetchOne($0, sql: "SELECT 1 FROM application LIMIT 1") } }
}
