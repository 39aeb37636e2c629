import IAMPASSProtocol
import Synchronization

/// A nonce that is to be used, and what is to be read afterwards.
struct NonceUse: Sendable {
  let nonce: SignedNonce
  /// Service time.
  let now: UnixTime
  /// The id of the session whose client is to be told; nil: no session is read.
  var session: String?
  /// The id of the application or host credential that is to be read; nil: none is.
  var signInClient: String?

  struct Outcome: Sendable {
    let isNew: Bool
    /// Nil unless the nonce is new and the use names a session.
    var moment: SessionMoment?
    /// Nil unless the nonce is new and the use names a client that there is.
    var signInClient: SignInClient?
  }
}

/// Nonces that wait for their turn. In a turn all that wait are used in one transaction: a commit costs several times as
/// much as a nonce.
final class NonceUseQueue: Sendable {
  /// One request that waits.
  struct Waiter: Sendable {
    let nonceUse: NonceUse
    let arrival = ContinuousClock.now
    fileprivate let wait: StorageLoad.Wait
    /// See ``ClientDeparture``.
    fileprivate let departure = ClientDeparture.current
    fileprivate let continuation: CheckedContinuation<NonceUse.Outcome, any Error>

    func resume(_ result: Result<NonceUse.Outcome, any Error>) { continuation.resume(with: result) }
  }

  private struct State {
    var waiters: [Waiter] = []
    var turns = 0
    var isWatched = false
  }

  /// One transaction uses no more.
  private static let greatestCount = 128

  private let greatestTurns: Int
  private let patience: Duration?
  private let mayWaitInTurn: Bool
  private let queue: StorageLoad.Queue
  private let state = Mutex(State())

  /// - Parameters:
  ///   - greatestTurns: the greatest number of turns that go on at the same time.
  ///   - patience: how long one waits for its turn at most; nil: the engine sees to that.
  ///   - mayWaitInTurn: whether a turn that was asked for may begin much later.
  ///   - queue: notes the waits.
  init(
    greatestTurns: Int, patience: Duration? = nil, mayWaitInTurn: Bool = false, queue: StorageLoad.Queue = .init()
  ) {
    self.greatestTurns = greatestTurns
    self.patience = patience
    self.mayWaitInTurn = mayWaitInTurn
    self.queue = queue
  }

  /// How many wait.
  var count: Int { state.withLock(\.waiters.count) }

  /// - Returns: whether a turn is to be asked for.
  func add(_ nonceUse: NonceUse, _ continuation: CheckedContinuation<NonceUse.Outcome, any Error>) -> Bool {
    let waiter = Waiter(nonceUse: nonceUse, wait: queue.begin(), continuation: continuation)
    let (hasTurn, isToBeWatched) = state.withLock { state in
      state.waiters.append(waiter)
      let isNext = state.turns < greatestTurns
      if isNext { state.turns += 1 }
      guard !isNext || mayWaitInTurn else { return (true, false) }
      defer { state.isWatched = true }
      return (isNext, !state.isWatched)
    }
    if isToBeWatched, let patience { Task.detached { await self.watch(patience) } }
    return hasTurn
  }

  /// Refuses those that have waited too long, until nobody waits.
  private func watch(_ patience: Duration) async {
    while let next = refuse(after: patience) { try? await Task.sleep(until: next, clock: .continuous) }
  }

  /// - Returns: when the next one is overdue; nil: nobody waits.
  private func refuse(after patience: Duration) -> ContinuousClock.Instant? {
    let now = ContinuousClock.now
    let (overdue, next) = state.withLock { state in
      let overdue = Array(state.waiters.prefix { $0.arrival + patience <= now })
      state.waiters.removeFirst(overdue.count)
      state.isWatched = !state.waiters.isEmpty
      return (overdue, state.waiters.first.map { $0.arrival + patience })
    }
    for waiter in overdue {
      waiter.wait.end()
      queue.refused.add()
      waiter.resume(.failure(StorageBusy()))
    }
    return next
  }

  /// The oldest of those that wait, in a turn. Those whose clients have gone end here, and their nonces are not used.
  func take() -> [Waiter] {
    let taken = state.withLock { state in
      let taken = Array(state.waiters.prefix(Self.greatestCount))
      state.waiters.removeFirst(taken.count)
      return taken
    }
    return taken.filter { waiter in
      waiter.wait.end()
      guard let departure = waiter.departure, departure.hasLeft else { return true }
      waiter.resume(.failure(CancellationError()))
      return false
    }
  }

  /// To be called at the end of each turn, whatever became of it.
  ///
  /// - Returns: whether another turn is to be asked for, since others wait.
  func endTurn() -> Bool {
    state.withLock { state in
      guard state.waiters.isEmpty else { return true }
      state.turns -= 1
      return false
    }
  }
}
