import Synchronization

/// Bounds the requests that use the storage before their client is authenticated.
///
/// Further ones wait for a place, since all computers and phones ask at once after a restart. The senders take turns, so
/// that nobody waits behind all requests of another.
final class UnauthenticatedRequestLimit: Sendable {
  /// The most requests at the same time. PostgreSQL reads for several at once, in a millisecond or two each, so the
  /// last one waits for some hundredths of a second.
  static let greatestCount = 128
  /// The most requests of one sender, so that one sender does not take all places.
  static let greatestShare = 64
  /// The most requests that wait. Each takes some KiB.
  static let greatestQueue = 4_096
  /// The most requests of one sender that wait. An office's computers may have one public address.
  static let greatestQueueShare = 1_024

  /// One request's place.
  struct Place: Sendable {
    fileprivate let owner: UnauthenticatedRequestLimit
    fileprivate let sender: String

    /// Frees the place. Call it once, when the client is authenticated or was answered.
    func leave() { owner.leave(sender) }
  }

  /// The longest wait.
  static let usualPatience = Duration.seconds(2)

  private let patience: Duration
  private let state = Mutex(State())

  /// - Parameter patience: the longest wait.
  init(patience: Duration = usualPatience) { self.patience = patience }

  /// The number of places in use.
  var count: Int { state.withLock(\.count) }

  /// The number of requests that wait.
  var waiting: Int { state.withLock(\.waiting) }

  /// Takes a place for a request of this sender, and waits for it if there is none.
  ///
  /// - Throws: ``TooManyUnauthenticatedRequests`` after the longest wait, or at once if too many wait.
  func enter(from sender: String) async throws(TooManyUnauthenticatedRequests) -> Place {
    let isIn = await withCheckedContinuation { continuation in
      let waiter = Waiter(overdue: .now + patience, continuation: continuation)
      let (isIn, isToBeWatched) = state.withLock { state -> (Bool?, Bool) in
        let isIn = state.enter(waiter, from: sender)
        guard isIn == nil else { return (isIn, false) }
        defer { state.isWatched = true }
        return (nil, !state.isWatched)
      }
      if isToBeWatched { Task.detached { await self.watch() } }
      if let isIn { continuation.resume(returning: isIn) }
    }
    guard isIn else { throw TooManyUnauthenticatedRequests() }
    return Place(owner: self, sender: sender)
  }

  private func leave(_ sender: String) {
    for waiter in state.withLock({ $0.leave(sender) }) { waiter.continuation.resume(returning: true) }
  }

  /// Refuses those that have waited too long, until nobody waits.
  private func watch() async {
    while let next = refuseOverdue(at: .now) { try? await Task.sleep(until: next, clock: .continuous) }
  }

  /// - Returns: when to call it again; nil if nobody waits.
  private func refuseOverdue(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    let (overdue, isOver) = state.withLock { state in
      let overdue = state.takeOverdue(at: now)
      state.isWatched = state.waiting > 0
      return (overdue, state.waiting == 0)
    }
    for waiter in overdue { waiter.continuation.resume(returning: false) }
    return isOver ? nil : now + patience / 8
  }
}

/// There are too many requests of clients that are not authenticated. This request was not begun.
struct TooManyUnauthenticatedRequests: Error {
  /// The time after which to try again, in seconds.
  static let pause: Int64 = 1
}

extension UnauthenticatedRequestLimit {
  /// One request that waits for a place.
  private struct Waiter {
    let overdue: ContinuousClock.Instant
    /// Is told whether the request has a place.
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct Sender {
    var places = 0
    /// In order of arrival.
    var queue: [Waiter] = []
    /// It is in ``State/turns``.
    var hasTurn = false

    var isGone: Bool { places == 0 && queue.isEmpty && !hasTurn }
  }

  private struct State {
    var count = 0
    var waiting = 0
    var isWatched = false
    private var senders: [String: Sender] = [:]
    /// The senders that get the next free places, one each. Some may have no request any more.
    private var turns: [String] = []

    /// - Returns: whether the request has a place; nil if it waits for one.
    mutating func enter(_ waiter: Waiter, from name: String) -> Bool? {
      var sender = senders[name] ?? Sender()
      defer { senders[name] = sender.isGone ? nil : sender }
      if count < greatestCount, sender.places < greatestShare {
        count += 1
        sender.places += 1
        return true
      }
      guard waiting < greatestQueue, sender.queue.count < greatestQueueShare else { return false }
      waiting += 1
      sender.queue.append(waiter)
      lineUp(name, &sender)
      return nil
    }

    /// - Returns: those that have a place from now on.
    mutating func leave(_ name: String) -> [Waiter] {
      guard var sender = senders[name] else { return [] }
      count -= 1
      sender.places -= 1
      lineUp(name, &sender)
      senders[name] = sender.isGone ? nil : sender
      return takeTurns()
    }

    /// Those that have waited too long.
    mutating func takeOverdue(at now: ContinuousClock.Instant) -> [Waiter] {
      var taken: [Waiter] = []
      for (name, var sender) in senders where !sender.queue.isEmpty {
        let overdue = sender.queue.prefix { $0.overdue <= now }
        taken += overdue
        sender.queue.removeFirst(overdue.count)
        senders[name] = sender.isGone ? nil : sender
      }
      waiting -= taken.count
      return taken
    }

    private mutating func takeTurns() -> [Waiter] {
      var taken: [Waiter] = []
      while count < greatestCount, !turns.isEmpty {
        let name = turns.removeFirst()
        guard var sender = senders[name] else { continue }
        sender.hasTurn = false
        if !sender.queue.isEmpty {
          taken.append(sender.queue.removeFirst())
          waiting -= 1
          count += 1
          sender.places += 1
          lineUp(name, &sender)
        }
        senders[name] = sender.isGone ? nil : sender
      }
      return taken
    }

    private mutating func lineUp(_ name: String, _ sender: inout Sender) {
      guard !sender.hasTurn, !sender.queue.isEmpty, sender.places < greatestShare else { return }
      sender.hasTurn = true
      turns.append(name)
    }
  }
}
