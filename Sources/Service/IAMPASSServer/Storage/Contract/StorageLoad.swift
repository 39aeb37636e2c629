import Synchronization

/// How busy the storage is: who waits for their turn, and for how long.
final class StorageLoad: Sendable {
  /// What is asked of the storage. Each kind has a queue of its own.
  enum Kind: String, CaseIterable, Sendable {
    case read
    case write
    /// A signed request's nonce is spent.
    case nonce
    /// What all servers of a database count together.
    case counter
    case health
  }

  /// The queue of one kind.
  final class Queue: Sendable {
    let waiting = Counter()
    let waits = Histogram()
    /// Those that waited too long, and were not begun.
    let refused = Counter()

    /// One comes. ``Wait/end()`` says that it waits no longer.
    func begin() -> Wait { Wait(in: self) }

    /// Waits by `wait`, which throws ``StorageBusy`` if that takes too long.
    func measure(_ wait: () async throws -> Void) async throws {
      let own = begin()
      defer { own.end() }
      do { try await wait() } catch let error as StorageBusy {
        refused.add()
        throw error
      }
    }
  }

  /// One that waits.
  final class Wait: Sendable {
    private let queue: Queue
    private let start = ContinuousClock.now
    private let isOver = Atomic(false)

    fileprivate init(in queue: Queue) {
      self.queue = queue
      queue.waiting.add()
    }

    /// It has its turn, or gives up. A second call does nothing.
    func end() {
      guard !isOver.exchange(true, ordering: .relaxed) else { return }
      queue.waiting.add(-1)
      queue.waits.note(start.duration(to: .now))
    }
  }

  /// The kinds that have a queue here, and their queues.
  let queues: [(kind: Kind, queue: Queue)]
  /// The waits of transactions for the lock that all servers of a database share; nil if there is no such lock.
  let lock: Histogram?
  /// How often an operation was done again: another transaction came between, or a connection was lost.
  let repeats = Counter()
  /// For kinds without a queue.
  private let other = Queue()

  init(_ kinds: [Kind], hasLock: Bool) {
    queues = kinds.map { ($0, Queue()) }
    lock = hasLock ? Histogram() : nil
  }

  subscript(_ kind: Kind) -> Queue { queues.first { $0.kind == kind }?.queue ?? other }
}
