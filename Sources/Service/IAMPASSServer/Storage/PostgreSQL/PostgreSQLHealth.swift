import PostgreSQLLink
import Synchronization

/// Asks whether the database answers, by a connection that is kept for that alone. Those who ask while a check goes on
/// share it: strangers who ask cost one check at a time, and keep no other waiting.
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
      try pool.again { _ = try PostgreSQLWork($0).has("SELECT id FROM application LIMIT 1") }
    }
  }
}
