import PostgreSQLLink
import Synchronization

/// Checks that the database answers, over a connection that is kept only for this. Callers during a check share its
/// result. So strangers cause at most one check at a time, and other work does not wait.
final class PostgreSQLHealth: Sendable {
  let pool: PostgreSQLPool
  private let current = Mutex<Task<SealMark, any Error>?>(nil)

  init(_ address: PostgreSQLAddress, _ time: PostgreSQLTime, _ load: StorageLoad) {
    pool = PostgreSQLPool(address, time, patience: StoragePatience.usual, load: load)
  }

  /// - Returns: what the database says of its sealed secrets.
  func check() async throws -> SealMark {
    let check = current.withLock { current in
      if let current { return current }
      let check = Task.detached { try await self.ask() }
      current = check
      return check
    }
    return try await check.value
  }

  func close() { pool.closeAll() }

  private func ask() async throws -> SealMark {
    defer { current.withLock { $0 = nil } }
    return try await pool.inThread(.checking) { pool in
      try pool.again { try SealMark.stored(in: PostgreSQLTransaction($0)) }
    }
  }
}
