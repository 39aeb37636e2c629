import IAMPASSProtocol
import PostgreSQLLink

extension PostgreSQLStorage: HousekeepingStore {
  func forgetOld(at now: UnixTime, wall: UnixTime) async throws {
    try await write(locking: "LOCK TABLE forgotten_nonces IN SHARE ROW EXCLUSIVE MODE") { db in
      try SpentNonces.prune(at: now, wall: wall, in: db)
      try Link.prune(at: now, in: db)
      try SourceBlock.prune(at: now, in: db)
      try KeptAnswer.prune(at: now, in: db)
      try Session.prune(at: now, in: db)
      try AuditEntry.prune(at: now, in: db)
      try CodeUse.prune(at: now, in: db)
      try ConsoleAccess.prune(at: now, in: db)
      try PostgreSQLCommits.prune(at: now, in: db)
    }
    try await forgetLimits(at: now)
  }

  func stock() async throws -> StorageStock { try await glance { try StorageStock(in: $0) } }

  func answer() async throws { try await glance { _ = try $0.first("SELECT id FROM application LIMIT 1") } }
}
