import Synchronization

/// Work that all who ask at the same time share: there is one turn at a time, for those who wait by then.
///
/// Whoever asks is answered by a turn that begins afterwards.
final class SharedTurns<Request: Sendable, Value: Sendable>: Sendable {
  /// Does the work for these requests.
  ///
  /// - Returns: a value for each request, in their order.
  typealias Turn = @Sendable (_ requests: [Request]) async throws -> [Value]

  private struct Waiter {
    let request: Request
    let continuation: CheckedContinuation<Value, any Error>
  }

  private struct State {
    var isWorking = false
    /// For the turns to come, in the order in which they asked.
    var waiters: [Waiter] = []
  }

  private let greatestCount: Int
  private let failsTogether: Bool
  private let turn: Turn
  private let state = Mutex(State())

  /// - Parameters:
  ///   - greatestCount: one turn works for no more.
  ///   - failsTogether: whether a turn that fails also fails those who wait behind it. Otherwise each portion of them waits
  ///     as long for its own failure, one after the other.
  ///   - turn: takes bounded time.
  init(greatestCount: Int = .max, failsTogether: Bool = false, _ turn: @escaping Turn) {
    self.greatestCount = greatestCount
    self.failsTogether = failsTogether
    self.turn = turn
  }

  /// How many wait for a turn to begin.
  var waiting: Int { state.withLock(\.waiters.count) }

  /// - Throws: what the turn throws: it fails for all who share it.
  func value(of request: Request) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let isFirst = state.withLock { state in
        state.waiters.append(Waiter(request: request, continuation: continuation))
        defer { state.isWorking = true }
        return !state.isWorking
      }
      // No client that goes away ends it.
      if isFirst { Task.detached { await self.workUntilNobodyWaits() } }
    }
  }

  private func workUntilNobodyWaits() async {
    while let waiters = take() {
      do {
        let values = try await turn(waiters.map(\.request))
        precondition(values.count == waiters.count, "a turn gives each waiter a value")
        for (waiter, value) in zip(waiters, values) { waiter.continuation.resume(returning: value) }
      } catch {
        for waiter in waiters + (failsTogether ? takeAll() : []) { waiter.continuation.resume(throwing: error) }
      }
    }
  }

  private func takeAll() -> [Waiter] {
    state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
  }

  /// - Returns: those whose turn it is; nil if nobody waits, and there are no more turns.
  private func take() -> [Waiter]? {
    state.withLock { state in
      state.isWorking = !state.waiters.isEmpty
      guard state.isWorking else { return nil }
      let taken = Array(state.waiters.prefix(greatestCount))
      state.waiters.removeFirst(taken.count)
      return taken
    }
  }
}
