import Synchronization

/// A few places for slow work, with a queue: the first that waits gets the next place.
final class ConcurrencyLimit: Sendable {
  private struct Waiter {
    let number: Int
    /// Nil: it waits as long as it takes.
    let overdue: ContinuousClock.Instant?
    let continuation: CheckedContinuation<Void, any Error>

    func isOverdue(at now: ContinuousClock.Instant) -> Bool { overdue.map { $0 <= now } ?? false }
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

  /// The number of places that nobody has.
  var free: Int { state.withLock(\.free) }

  /// Takes a place. ``leave()`` gives it back.
  ///
  /// - Parameter isPatient: whether it waits as long as it takes.
  /// - Throws: ``StorageBusy`` after the longest wait; `CancellationError` if the task is cancelled meanwhile, or if its
  ///   client has gone when it gets a place: see ``ClientDeparture``. Then it has no place.
  func enter(isPatient: Bool = false) async throws {
    try Task.checkCancellation()
    try await queue.measure { try await wait(isPatient) }
    do { try ClientDeparture.check() } catch {
      leave()
      throw error
    }
  }

  private func wait(_ isPatient: Bool) async throws {
    let number = state.withLock { state in
      state.nextNumber += 1
      return state.nextNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (isIn, isToBeWatched) = take(number, isPatient, continuation)
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
    _ number: Int, _ isPatient: Bool, _ continuation: CheckedContinuation<Void, any Error>
  ) -> (isIn: Bool, isToBeWatched: Bool) {
    state.withLock { state in
      guard state.free == 0 else {
        state.free -= 1
        return (true, false)
      }
      let overdue = isPatient ? nil : ContinuousClock.now + patience
      state.waiters.append(Waiter(number: number, overdue: overdue, continuation: continuation))
      guard !isPatient else { return (false, false) }
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

  /// - Returns: when the next one is overdue; nil if none waits but for patient ones.
  private func refuseOverdue(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    let (overdue, next) = state.withLock { state in
      let overdue = state.waiters.filter { $0.isOverdue(at: now) }
      state.waiters.removeAll { $0.isOverdue(at: now) }
      // All others have the same patience, and so are overdue in their order.
      let next = state.waiters.first { $0.overdue != nil }?.overdue
      state.isWatched = next != nil
      return (overdue, next)
    }
    for waiter in overdue { waiter.continuation.resume(throwing: StorageBusy()) }
    return next
  }
}
