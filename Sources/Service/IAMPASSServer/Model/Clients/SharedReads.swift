import Synchronization

/// Reads of the storage that all who ask at the same time share: there is one at a time, for all ids that
/// anybody asks for.
///
/// Whoever asks is answered by a read that begins afterwards. So what is not there is not believed for longer.
final class SharedReads<Value: Sendable>: Sendable {
  /// Finds those of these ids that there are.
  typealias Read = @Sendable (_ ids: [String]) async throws -> [String: Value]

  private typealias Waiters = [String: [CheckedContinuation<Value?, any Error>]]

  private struct State {
    var isReading = false
    /// For the next read.
    var waiters: Waiters = [:]
  }

  private let read: Read
  private let state = Mutex(State())

  /// - Parameter read: takes bounded time.
  init(_ read: @escaping Read) { self.read = read }

  /// How many wait for the next read to begin.
  var waiting: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

  /// What there is with this id; nil if there is nothing.
  ///
  /// - Throws: what the read throws: it fails for all who share it.
  func value(of id: String) async throws -> Value? {
    try await withCheckedThrowingContinuation { continuation in
      let isFirst = state.withLock { state in
        state.waiters[id, default: []].append(continuation)
        defer { state.isReading = true }
        return !state.isReading
      }
      // No client that goes away ends it.
      if isFirst { Task.detached { await self.readUntilNobodyWaits() } }
    }
  }

  private func readUntilNobodyWaits() async {
    while let waiters = take() {
      let found: Result<[String: Value], any Error>
      do { found = .success(try await read(Array(waiters.keys))) } catch { found = .failure(error) }
      for (id, waiters) in waiters {
        for waiter in waiters { waiter.resume(with: found.map { $0[id] }) }
      }
    }
  }

  /// - Returns: who has asked by now; nil if nobody has, and there are no more reads.
  private func take() -> Waiters? {
    state.withLock { state in
      state.isReading = !state.waiters.isEmpty
      defer { state.waiters = [:] }
      return state.isReading ? state.waiters : nil
    }
  }
}
