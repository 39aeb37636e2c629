import PostgreSQLLink
import Synchronization

/// Checks that the database answers, over a connection that is kept only for this. Callers during a check share its
/// result. So strangers cause at most one check at a time, and other work does not wait.
final class PostgreSQLHealth: Sendable {
  let pool: PostgreSQLPool
  private let current = Mutex<Task<Void, any Error>?>(nil)

  init(_ address: PostgreSQLAddress, _ time: PostgreSQLTime, _ load: StorageLoad) {
    pool = PostgreSQLPool(address, time, patience: PostgreSQLPool.usualPatience, load: load)
  }

  func check() async throws {
    let check = current.withLock { current in
      if let current { return current }
      let check = Task.detached { try await self.ask() }
      current = check
      return check
    }
    try await check.value
  }

  func close() { pool.closeAll() }

  private func ask() async throws {
    defer { current.withLock { $0 = nil } }
    try await pool.inThread(.checking) { pool in
      try pool.again { _ = try PostgreSQLTransaction($0).has("SELECT id FROM application LIMIT 1") }
    }
  }
}
