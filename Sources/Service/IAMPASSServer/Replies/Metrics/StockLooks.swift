import Synchronization

/// What `/metrics` asks the database for. One look at a time: a database that hangs is not asked again and again, and
/// whoever asks for the metrics waits a moment at most.
final class StockLooks: Sendable {
  struct Stock: Sendable {
    let storage: StorageStock
    let signing: SigningState
  }

  /// How long the metrics wait for the database: half of what Prometheus waits for them.
  @TaskLocal static var patience = Duration.seconds(5)

  private let current = Mutex<Task<Stock, any Error>?>(nil)

  /// - Returns: nil if the database takes too long. The look goes on, for whoever asks next.
  /// - Throws: what `look` throws.
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
