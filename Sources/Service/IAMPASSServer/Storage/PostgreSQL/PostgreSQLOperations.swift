import IAMPASSProtocol
import PostgreSQLLink

/// What a database of several servers does in another way than one file.
extension PostgreSQLStorage: StorageEngine, ServiceEngine {
  func trouble(behind error: any Error) -> StorageTrouble {
    switch error {
    case let error as PostgreSQLError: StorageTrouble(error)
    case is DamagedRow: .damaged
    case is StorageBusy: .busy
    default: .other
    }
  }

  func noteUse(of credential: String, at now: UnixTime) async throws {
    try await write { try HostCredential.use(credential, at: now, in: $0) }
  }

  func forgetOld(at now: UnixTime, wall: UnixTime) async throws {
    try await write(locking: "LOCK TABLE forgotten_nonces IN SHARE ROW EXCLUSIVE MODE") { db in
      try db.forgetOld(at: now, wall: wall)
      try PostgreSQLCommits.prune(at: now, in: db)
    }
    try await forgetLimits(at: now)
  }

  func answer() async throws { try await health.check() }

  /// The settings of the server that break what a commit promises. They cannot be changed for one connection.
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
