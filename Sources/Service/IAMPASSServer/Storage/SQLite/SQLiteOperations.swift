import GRDB
import IAMPASSProtocol

/// The operations that differ for a database in one file.
extension SQLiteStorage: StorageEngine, ServiceEngine {
  func trouble(behind error: any Error) -> StorageTrouble { StorageTrouble(error) }

  func noteUse(of credential: String, at now: UnixTime) async throws {
    try await writeWithoutSync { try HostCredential.use(credential, at: now, in: $0) }
  }

  func forgetOld(_ kind: Forgettable, at now: UnixTime, wall: UnixTime) async throws -> Bool {
    guard kind == .nonces else { return try await writeWithoutSync { try $0.forgetOld(kind, at: now) } }
    guard let end = try await endOfOldNonces(at: now, wall: wall) else { return false }
    return try await writeWithoutSync { try NonceTimes.prune(before: end, wall: wall, in: $0) }
  }

  func answer() async throws { _ = try await health.check() }

  func sealProblem() async throws -> SealFault? { seals.problem(try await health.check()) }

  /// Rewrites the whole file, and empties the log. Writers wait meanwhile. It needs as much room as the file has.
  public func eraseOverwritten() async throws {
    try await pool.writeWithoutTransaction { db in
      try db.execute(sql: "VACUUM")
      try db.checkpoint(.truncate)
    }
  }

  public func showServer() async throws {
    // Its connection is there before strangers take the descriptors. If that fails, the next check makes it.
    _ = try? await health.check()
    try ServingFile.leave(RunningServer(with: sealKeys), in: folder)
  }

  public func runningServers() async throws -> [RunningServer] { try ServingFile.servers(in: folder) }

  /// The data folder.
  var folder: String { String(pool.path.dropLast(SQLiteStorage.fileName.utf8.count + 1)) }

  /// See ``checkWhole()``.
  public func problems() async throws -> [String] {
    try checkWhole()
    return []
  }
}

extension StorageClock {
  /// Makes the clock from the database's stored state, and stores this boot.
  convenience init(_ clocks: MachineClocks, keptIn pool: DatabasePool) throws {
    let stored = try pool.read(Self.stored)
    self.init(clocks, stored: stored)
    guard isNews(to: stored) else { return }
    do {
      try pool.write { db in
        // Another process of the same boot may have done it meanwhile, which is harmless.
        guard try Self.stored(in: db) == stored else { return }
        try anchor.store(in: db)
      }
    } catch  where [.full, .locked].contains(StorageTrouble(error)) {
      // It is stored with the next call.
    }
  }
}
