import Synchronization

/// The storage's load: waiting operations, and how long they wait.
final class StorageLoad: Sendable {
  /// The kinds of operations. Each kind has its own queue.
  enum Kind: String, CaseIterable, Sendable {
    case read
    case write
    /// A signed request's nonce is used.
    case nonce
    /// A counter that all servers of a database share.
    case counter
    case health
  }

  /// The queue of one kind.
  final class Queue: Sendable {
    let waiting = Counter()
    let waits = Histogram()
    /// The number of operations that waited too long and were not begun.
    let refused = Counter()

    /// Begins a wait, which ``Wait/end()`` ends.
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

  /// One waiting operation.
  final class Wait: Sendable {
    private let queue: Queue
    private let start = ContinuousClock.now
    private let isOver = Atomic(false)

    fileprivate init(in queue: Queue) {
      self.queue = queue
      queue.waiting.add()
    }

    /// Ends the wait, because the operation has its turn or gives up. A second call does nothing.
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
  /// How often an operation was repeated, because of a conflict or a lost connection.
  let repeats = Counter()
  /// The queue for all other kinds.
  private let other = Queue()

  init(_ kinds: [Kind], hasLock: Bool) {
    queues = kinds.map { ($0, Queue()) }
    lock = hasLock ? Histogram() : nil
  }

  subscript(_ kind: Kind) -> Queue { queues.first { $0.kind == kind }?.queue ?? other }
}
