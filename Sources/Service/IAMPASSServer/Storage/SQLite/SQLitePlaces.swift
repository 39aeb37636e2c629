/// The places of operations on one file. SQLite has one writer, and GRDB a few connections that read. Both have queues
/// without a bound, so what would make them long waits here, for a bounded time.
struct SQLitePlaces: Sendable {
  /// One write is at work, and the others are ready when it ends.
  static let writes = 3
  /// As many as connections that read.
  static let reads = 5

  let writing: ConcurrencyLimit
  let reading: ConcurrencyLimit
  private let load: StorageLoad

  /// - Parameters:
  ///   - patience: the longest time that an operation waits for a place.
  ///   - load: notes the waits, also those at GRDB.
  init(patience: Duration, load: StorageLoad) {
    writing = ConcurrencyLimit(Self.writes, patience: patience)
    reading = ConcurrencyLimit(Self.reads, patience: patience)
    self.load = load
  }

  /// Does `work` in a place for writes. It ends its wait as soon as it has the connection.
  ///
  /// - Parameter isPatient: see ``StoragePatience``.
  /// - Throws: the errors of `work`. If it was not begun: ``StorageBusy`` if it waited too long, and
  ///   `CancellationError` if the task was cancelled.
  func write<Value>(isPatient: Bool, _ work: (StorageLoad.Wait) async throws -> Value) async throws -> Value {
    try await Self.hold(writing, load[.write], isPatient, work)
  }

  /// The same for reads.
  func read<Value>(isPatient: Bool, _ work: (StorageLoad.Wait) async throws -> Value) async throws -> Value {
    try await Self.hold(reading, load[.read], isPatient, work)
  }

  private static func hold<Value>(
    _ places: ConcurrencyLimit, _ queue: StorageLoad.Queue, _ isPatient: Bool,
    _ work: (StorageLoad.Wait) async throws -> Value
  ) async throws -> Value {
    let wait = queue.begin()
    defer { wait.end() }
    do { try await places.enter(isPatient: isPatient) } catch let error as StorageBusy {
      queue.refused.add()
      throw error
    }
    defer { places.leave() }
    return try await work(wait)
  }
}
