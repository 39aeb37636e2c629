import GRDB
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
    /// Nil unless the nonce is new and there is such a session.
    let told: ToldSession?
    let mark: ServiceMark
  }
}

/// Nonces that wait for the one connection that writes. When its turn comes, it spends all of them in one transaction: a
/// commit costs several times as much as a nonce.
final class WaitingSpendings: Sendable {
  /// One request that waits.
  struct Waiter: Sendable {
    let spending: Spending
    let arrival = ContinuousClock.now
    fileprivate let continuation: CheckedContinuation<Spending.Outcome, any Error>

    func resume(_ result: Result<Spending.Outcome, any Error>) { continuation.resume(with: result) }
  }

  /// One transaction spends no more. Others who write have their turn after it.
  private static let greatestCount = 128

  private let waiters = Mutex<[Waiter]>([])

  /// How many wait.
  var count: Int { waiters.withLock(\.count) }

  /// - Returns: whether nobody waited before, so that a turn is to be asked for.
  func add(_ spending: Spending, _ continuation: CheckedContinuation<Spending.Outcome, any Error>) -> Bool {
    waiters.withLock { waiters in
      waiters.append(Waiter(spending: spending, continuation: continuation))
      return waiters.count == 1
    }
  }

  /// The oldest of those that wait, and whether others are left, for whom a turn is to be asked.
  func take() -> (taken: [Waiter], isMoreLeft: Bool) {
    waiters.withLock { waiters in
      let taken = Array(waiters.prefix(Self.greatestCount))
      waiters.removeFirst(taken.count)
      return (taken, !waiters.isEmpty)
    }
  }
}

extension SQLiteStorage {
  /// Spends the nonce together with all others that wait by then.
  ///
  /// When this returns, `kill -9` does not undo it, but a power cut may, until the next ``write(_:)``. Whatever the request
  /// goes on to change is stored by such a write, which brings the nonce to the disk with it.
  func spend(_ spending: Spending) async throws -> Spending.Outcome {
    try await withCheckedThrowingContinuation { continuation in
      if spendings.add(spending, continuation) { askForTurn() }
    }
  }

  private func askForTurn() { pool.asyncWriteWithoutTransaction { db in spendWaiting(in: db) } }

  private func spendWaiting(in db: Database) {
    let (taken, isMoreLeft) = spendings.take()
    if isMoreLeft { askForTurn() }
    var inTime: [WaitingSpendings.Waiter] = []
    for waiter in taken {
      if hasWaitedEnough(since: waiter.arrival) {
        waiter.resume(.failure(DatabaseError(resultCode: .SQLITE_BUSY)))
      } else {
        inTime.append(waiter)
      }
    }
    spend(inTime, in: db)
  }

  /// One transaction. If it fails, each has a transaction of its own: a damaged row must not fail the others' requests.
  private func spend(_ waiters: [WaitingSpendings.Waiter], in db: Database) {
    guard !waiters.isEmpty else { return }
    do {
      let outcomes = try transact(.normal, in: db) { try waiters.map(\.spending).perform(in: $0, sessions) }
      for (waiter, outcome) in zip(waiters, outcomes) { waiter.resume(.success(outcome)) }
    } catch  where waiters.count > 1 && StorageTrouble(error) != .locked {
      for waiter in waiters { spend([waiter], in: db) }
    } catch {
      for waiter in waiters { waiter.resume(.failure(error)) }
    }
  }
}

extension [Spending] {
  /// Spends one after the other: of two with one nonce, the first wins. What is read is read afterwards.
  fileprivate func perform(in db: Database, _ sessions: KnownSessions) throws -> [Spending.Outcome] {
    let areNew = try map { try $0.isNewlySpent(in: db) }
    try sessions.follow(db)
    let mark = try HistoryMark.current(in: db)
    return try zip(self, areNew).map { spending, isNew in
      let told = isNew ? try spending.session.flatMap { try sessions.session($0, in: db) } : nil
      return Spending.Outcome(isNew: isNew, told: told, mark: mark)
    }
  }
}

extension Spending {
  fileprivate func isNewlySpent(in db: Database) throws -> Bool {
    let isNew = try SpentNonces.spend(
      nonce.value, client: nonce.owner, forgetAt: nonce.forgetAt, at: now, in: db)
    if isNew, let credential = nonce.credential { try HostCredential.use(credential, at: now, in: db) }
    return isNew
  }
}
