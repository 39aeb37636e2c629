import Synchronization

/// Reads the database's numbers for `/metrics`, one query at a time. So a database that hangs is not asked repeatedly,
/// and the metrics wait only a bounded time.
final class StockQuery: Sendable {
  struct Stock: Sendable {
    let storage: StorageStock
    let signing: SigningState
  }

  /// How long the metrics wait for the database: half of Prometheus's own time.
  @TaskLocal static var patience = Duration.seconds(5)

  private let current = Mutex<Task<Stock, any Error>?>(nil)

  /// - Returns: nil if the database takes too long. The query goes on for the next caller.
  /// - Throws: the errors of `look`.
  func stock(by look: @escaping @Sendable () async throws -> Stock) async throws -> Stock? {
    let task = current.withLock { current in
      if let current { return current }
      let task = Task.detached { [self] in
        defer { self.current.withLock { $0 = nil } }
        return try await look()
      }
      current = task
      return task
    }
    let (firsts, results) = AsyncStream.makeStream(of: Result<Stock, any Error>?.self)
    let looking = Task { results.yield(await task.result) }
    let patience = Self.patience
    let waiting = Task {
      try? await Task.sleep(for: patience)
      results.yield(nil)
    }
    defer {
      looking.cancel()
      waiting.cancel()
    }
    for await first in firsts { return try first?.get() }
    return nil
  }
}
