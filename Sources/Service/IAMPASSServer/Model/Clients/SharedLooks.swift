import Synchronization

/// Looks at the storage that are shared by all who ask at the same time: there is one look at a time, for all ids that
/// anybody asks for.
///
/// Whoever asks is answered by a look that begins afterwards. So what is not there is not believed for longer.
final class SharedLooks<Value: Sendable>: Sendable {
  /// Finds those of these ids that there are.
  typealias Look = @Sendable (_ ids: [String]) async throws -> [String: Value]

  private typealias Waiters = [String: [CheckedContinuation<Value?, any Error>]]

  private struct State {
    var isLooking = false
    /// For the next look.
    var waiters: Waiters = [:]
  }

  private let look: Look
  private let state = Mutex(State())

  /// - Parameter look: takes bounded time.
  init(_ look: @escaping Look) { self.look = look }

  /// How many wait for the next look to begin.
  var waiting: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

  /// What there is with this id; nil if there is nothing.
  ///
  /// - Throws: what the look throws: it fails for all who share it.
  func value(of id: String) async throws -> Value? {
    try await withCheckedThrowingContinuation { continuation in
      let isFirst = state.withLock { state in
        state.waiters[id, default: []].append(continuation)
        defer { state.isLooking = true }
        return !state.isLooking
      }
      // No client that goes away ends it.
      if isFirst { Task.detached { await self.lookUntilNobodyWaits() } }
    }
  }

  private func lookUntilNobodyWaits() async {
    while let waiters = take() {
      let found: Result<[String: Value], any Error>
      do { found = .success(try await look(Array(waiters.keys))) } catch { found = .failure(error) }
      for (id, waiters) in waiters {
        for waiter in waiters { waiter.resume(with: found.map { $0[id] }) }
      }
    }
  }

  /// - Returns: who has asked by now; nil if nobody has, and there are no more looks.
  private func take() -> Waiters? {
    state.withLock { state in
      state.isLooking = !state.waiters.isEmpty
      defer { state.waiters = [:] }
      return state.isLooking ? state.waiters : nil
    }
  }
}
