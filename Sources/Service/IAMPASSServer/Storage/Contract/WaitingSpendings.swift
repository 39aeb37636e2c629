import IAMPASSProtocol
import Synchronization

/// A nonce that is to be spent, and what is to be read afterwards.
struct Spending: Sendable {
  let nonce: SignedNonce
  /// Service time.
  let now: UnixTime
  /// The id of the session whose client is to be told; nil: nothing is read.
  var session: String?

  struct Outcome: Sendable {
    let isNew: Bool
    /// Nil unless the nonce is new and the spending names a session.
    let moment: SessionMoment?
  }
}

/// Nonces that wait for their turn. In a turn all that wait are spent in one transaction: a commit costs several times as
/// much as a nonce.
final class WaitingSpendings: Sendable {
  /// One request that waits.
  struct Waiter: Sendable {
    let spending: Spending
    let arrival = ContinuousClock.now
    fileprivate let continuation: CheckedContinuation<Spending.Outcome, any Error>

    func resume(_ result: Result<Spending.Outcome, any Error>) { continuation.resume(with: result) }
  }

  private struct State {
    var waiters: [Waiter] = []
    var turns = 0
  }

  /// One transaction spends no more.
  private static let greatestCount = 128

  private let greatestTurns: Int
  private let state = Mutex(State())

  /// - Parameter greatestTurns: the greatest number of turns that go on at the same time.
  init(greatestTurns: Int) { self.greatestTurns = greatestTurns }

  /// How many wait.
  var count: Int { state.withLock(\.waiters.count) }

  /// - Returns: whether a turn is to be asked for.
  func add(_ spending: Spending, _ continuation: CheckedContinuation<Spending.Outcome, any Error>) -> Bool {
    state.withLock { state in
      state.waiters.append(Waiter(spending: spending, continuation: continuation))
      guard state.turns < greatestTurns else { return false }
      state.turns += 1
      return true
    }
  }

  /// The oldest of those that wait, in a turn.
  func take() -> [Waiter] {
    state.withLock { state in
      let taken = Array(state.waiters.prefix(Self.greatestCount))
      state.waiters.removeFirst(taken.count)
      return taken
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
