import Synchronization

/// A few places for slow work, with a queue: the first that waits gets the next place.
final class ConcurrencyLimit: Sendable {
  private struct Waiter {
    let number: Int
    let overdue: ContinuousClock.Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var free: Int
    var nextNumber = 0
    var waiters: [Waiter] = []
    var isWatched = false
  }

  private let patience: Duration
  private let queue: StorageLoad.Queue
  private let state: Mutex<State>

  /// - Parameters:
  ///   - count: the number of places.
  ///   - patience: the longest wait.
  ///   - queue: counts the waits.
  init(_ count: Int, patience: Duration, queue: StorageLoad.Queue = .init()) {
    self.patience = patience
    self.queue = queue
    state = Mutex(State(free: count))
  }

  /// The number of waiting tasks.
  var waiting: Int { state.withLock(\.waiters.count) }

  /// Takes a place. ``leave()`` gives it back.
  ///
  /// - Throws: ``StorageBusy`` after the longest wait; `CancellationError` if the task is cancelled meanwhile. Then no
  ///   place was taken.
  func enter() async throws {
    try Task.checkCancellation()
    try await queue.measure(wait)
  }

  private func wait() async throws {
    let number = state.withLock { state in
      state.nextNumber += 1
      return state.nextNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (isIn, isToBeWatched) = take(number, continuation)
        if isIn { return continuation.resume() }
        if isToBeWatched { Task.detached { await self.watch() } }
        // The cancellation handler ran before this waiter was added.
        if Task.isCancelled { drop(number) }
      }
    } onCancel: {
      drop(number)
    }
  }

  /// Gives the place to the first that waits.
  func leave() {
    let next = state.withLock { state -> Waiter? in
      guard !state.waiters.isEmpty else {
        state.free += 1
        return nil
      }
      return state.waiters.removeFirst()
    }
    next?.continuation.resume()
  }

  private func take(
    _ number: Int, _ continuation: CheckedContinuation<Void, any Error>
  ) -> (isIn: Bool, isToBeWatched: Bool) {
    state.withLock { state in
      guard state.free == 0 else {
        state.free -= 1
        return (true, false)
      }
      state.waiters.append(Waiter(number: number, overdue: .now + patience, continuation: continuation))
      defer { state.isWatched = true }
      return (false, !state.isWatched)
    }
  }

  private func drop(_ number: Int) {
    let dropped = state.withLock { state in
      state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
    }
    dropped?.continuation.resume(throwing: CancellationError())
  }

  /// Refuses tasks that have waited too long, until none waits.
  private func watch() async {
    while let next = refuseOverdue(at: .now) { try? await Task.sleep(until: next, clock: .continuous) }
  }

  /// - Returns: when the next one is overdue; nil if none waits.
  private func refuseOverdue(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    let (overdue, next) = state.withLock { state in
      let overdue = Array(state.waiters.prefix { $0.overdue <= now })
      state.waiters.removeFirst(overdue.count)
      state.isWatched = !state.waiters.isEmpty
      return (overdue, state.waiters.first?.overdue)
    }
    for waiter in overdue { waiter.continuation.resume(throwing: StorageBusy()) }
    return next
  }
}
