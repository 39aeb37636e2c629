import IAMPASSProtocol
import PostgreSQLLink

/// The operations that differ for a database of several servers.
extension PostgreSQLStorage: StorageEngine, ServiceEngine {
  func trouble(behind error: any Error) -> StorageTrouble {
    switch error {
    case let error as PostgreSQLError: StorageTrouble(error)
    case is DamagedRow: .damaged
    case is StorageBusy: .busy
    case let fault as SealFault: .sealed(fault)
    default: .other
    }
  }

  /// Stores the time that all servers have. A power cut may undo it, until the next ``write(_:)``.
  func keepTime() async throws {
    guard clock.isShared else { return try await writeWithoutSync { [clock] in try clock.anchor.store(in: $0) } }
    let kept = try await writeWithoutSync { [clock, time] in try time.keep(clock, in: $0) }
    time.noteStored(kept, by: clock)
  }

  func noteUse(of credential: String, at now: UnixTime) async throws {
    try await write { try HostCredential.use(credential, at: now, in: $0) }
  }

  /// Its commits do not wait for a standby: a lost standby would delay signed requests and writers.
  func forgetOld(_ kind: Forgettable, at now: UnixTime, wall: UnixTime) async throws -> Bool {
    switch kind {
    case .nonces:
      guard let end = try await endOfOldNonces(at: now, wall: wall) else { return false }
      // Whoever uses a nonce locks this table as well, at once and not in turn.
      return try await writeWithoutSync(locking: "LOCK TABLE forgotten_nonces IN SHARE ROW EXCLUSIVE MODE") {
        try NonceTimes.prune(before: end, wall: wall, in: $0)
      }
    case .notes:
      let hasMoreNotes = try await writeWithoutSync { try PostgreSQLCommits.prune(at: now, in: $0) }
      // These commit by themselves, and hold nothing but old counters.
      let hasMoreLimits = try await forgetLimits(at: now)
      return hasMoreNotes || hasMoreLimits
    default: return try await writeWithoutSync { try $0.forgetOld(kind, at: now) }
    }
  }

  func answer() async throws { _ = try await health.check() }

  func sealProblem() async throws -> SealFault? { seals.problem(try await health.check()) }

  /// Rewrites the files of these tables, one by one. Requests wait for the one that is rewritten. What was in the
  /// write-ahead log and in copies of it stays there, and `session` is not rewritten: it may be large.
  public func eraseOverwritten() async throws {
    for call in [
      PostgreSQLCall("VACUUM FULL push_key"), PostgreSQLCall("VACUUM FULL signing_key"),
      PostgreSQLCall("VACUUM FULL notification_service"), PostgreSQLCall("VACUUM FULL application"),
      PostgreSQLCall("VACUUM FULL host_credential"), PostgreSQLCall("VACUUM FULL joining"),
      PostgreSQLCall("VACUUM FULL push_subscription"), PostgreSQLCall("VACUUM FULL app_token"),
    ] { _ = try await commitAlone(.writing, call) }
  }

  public func showServer() async throws {
    do { try await listener.show(RunningServer(with: sealKeys)) } catch let error as PostgreSQLError {
      throw StorageError(error, url)
    } catch let error as StorageError { throw error } catch {
      throw StorageError(.databaseNotReached, path: url, detail: "\(error)")
    }
  }

  public func runningServers() async throws -> [RunningServer] {
    try await readOnce { try PostgreSQLServers.all(in: $0) }
  }

  /// Settings of the server that break a commit's promise. They cannot be changed for one connection.
  public func problems() async throws -> [String] {
    try await read { db in
      let off = try db.all(
        """
        SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name
        """)
      return try off.map { "\(try $0.get("name") as String) is off: a power cut can damage the database" }
    }
  }
}
