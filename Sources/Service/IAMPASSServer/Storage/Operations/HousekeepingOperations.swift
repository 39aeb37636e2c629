import IAMPASSProtocol

extension StorageEngine {
  func stock() async throws -> StorageStock { try await glance { try StorageStock(in: $0) } }

  func answer() async throws { try await glance { _ = try $0.has("SELECT id FROM application LIMIT 1") } }
}

extension StorageWork {
  /// Forgets what is old: see ``HousekeepingStore/forgetOld(at:wall:)``.
  func forgetOld(at now: UnixTime, wall: UnixTime) throws {
    try SpentNonces.prune(at: now, wall: wall, in: self)
    try Link.prune(at: now, in: self)
    try SourceBlock.prune(at: now, in: self)
    try KeptAnswer.prune(at: now, in: self)
    try Session.prune(at: now, in: self)
    try AuditEntry.prune(at: now, in: self)
    try CodeUse.prune(at: now, in: self)
    try ConsoleAccess.prune(at: now, in: self)
  }
}
