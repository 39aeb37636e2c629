import NIOCore
import NIOPosix
import Synchronization

/// Held requests wait here for a change. Code that commits a change reports it here, so that the database is not
/// polled.
///
/// A watch begins before the state is read, so that a change between reading and waiting is not missed.
final class ChangeBoard: Sendable {
  /// What a request watches.
  enum Topic: Hashable, Sendable {
    /// A session, by its id.
    case session(String)
    /// The requests of a user's phone.
    case user(Int64)
    /// A computer that asks to join, by what an administrator sees of it.
    case joining(name: String, mark: String)
    /// The list of users of an application, by its id.
    case userList(String)
  }

  /// How ``changedAll(over:)`` spreads its signals: thousands of looks at once would wait longer for the storage than an
  /// operation may, and most of them would be refused.
  struct Spread: Sendable {
    /// How many requests are woken at the same time.
    var slice = 200
    /// The most slices. If there are more requests, each slice has more of them, so that the last one is woken within 2 s.
    var greatestCount = 50
    /// Calls its argument after the pause between two slices. Tests give another.
    var pause: @Sendable (@escaping @Sendable () -> Void) -> Void = { next in
      _ = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: .milliseconds(40)) { next() }
    }
  }

  /// A request that waits for its slice.
  private struct Unwoken {
    let key: Int
    let signal: Watch.Signal
  }

  private struct State {
    var isStopped = false
    var isStopAnnounced = false
    var nextKey = 0
    var signals: [Topic: [Int: Watch.Signal]] = [:]
    var joiningCount = 0
    /// What ``changedAll(over:)`` has not woken yet, in this order, and how many are next.
    var unwoken: [Unwoken] = []
    var slice = 0
    /// Whether a slice is due at once or after a pause.
    var isSpreading = false
  }

  private let state = Mutex(State())

  func watch(_ topic: Topic) -> Watch {
    let signal = Watch.Signal()
    let key = state.withLock { state in
      let key = state.nextKey
      state.nextKey += 1
      if state.isStopped {
        signal.finish()
      } else {
        state.signals[topic, default: [:]][key] = signal
        if topic.isJoining { state.joiningCount += 1 }
      }
      return key
    }
    return Watch(signal) { [weak self] in self?.forget(topic, key) }
  }

  func changed(_ topic: Topic) {
    for signal in state.withLock({ Array(($0.signals[topic] ?? [:]).values) }) { signal.give() }
  }

  /// Wakes all requests that wait for a list of users, of whichever application.
  func changedUserLists() {
    let signals = state.withLock { state in
      state.signals.filter { if case .userList = $0.key { true } else { false } }.values.flatMap(\.values)
    }
    for signal in signals { signal.give() }
  }

  /// Wakes all computers that ask to join.
  func changedJoins() {
    let signals = state.withLock { state in
      state.signals.filter { $0.key.isJoining }.values.flatMap(\.values)
    }
    for signal in signals { signal.give() }
  }

  /// Wakes all waiting requests, because anything may have changed: the first slice at once, the last one within 2 s.
  ///
  /// A request that begins to wait meanwhile looks at the storage after this call anyway. A change of its own topic wakes
  /// a request at once, whatever its slice.
  func changedAll(over spread: Spread = Spread()) {
    let isUnderWay = state.withLock { state in
      let earlier = Set(state.unwoken.map(\.key))
      let all = state.signals.values.flatMap { $0.map { Unwoken(key: $0.key, signal: $0.value) } }
        .sorted { $0.key < $1.key }
      // Those that an earlier call has not woken yet come first: frequent calls delay nobody.
      state.unwoken = all.filter { earlier.contains($0.key) } + all.filter { !earlier.contains($0.key) }
      state.slice = max(spread.slice, (all.count + spread.greatestCount - 1) / spread.greatestCount)
      defer { state.isSpreading = true }
      return state.isSpreading
    }
    if !isUnderWay { wakeSlice(spread) }
  }

  private func wakeSlice(_ spread: Spread) {
    let (slice, hasMore) = state.withLock { state in
      let slice = state.unwoken.prefix(state.slice).map(\.signal)
      state.unwoken.removeFirst(slice.count)
      state.isSpreading = !state.unwoken.isEmpty
      return (slice, state.isSpreading)
    }
    for signal in slice { signal.give() }
    if hasMore { spread.pause { [weak self] in self?.wakeSlice(spread) } }
  }

  /// Ends the oldest watches of a topic if there are more than `count`.
  func keepNewest(_ count: Int, of topic: Topic) {
    let signals = state.withLock { $0.signals[topic] ?? [:] }
    for (_, signal) in signals.sorted(by: { $0.key > $1.key }).dropFirst(count) { signal.finish() }
  }

  /// Ends the wait of every held request, and of requests to come.
  func stop() {
    let all = state.withLock { state in
      state.isStopped = true
      state.unwoken = []
      return state.signals.values.flatMap(\.values)
    }
    for signal in all { signal.finish() }
  }

  /// Has held requests that still look at the storage after ``stop()`` be answered without it.
  func giveUp() {
    for signal in state.withLock({ $0.signals.values.flatMap(\.values) }) { signal.giveUp() }
  }

  /// Notes that the service is about to stop. Requests are still held until ``stop()``.
  func announceStop() { state.withLock { $0.isStopAnnounced = true } }

  /// Whether the service is stopping or about to stop.
  var isStopping: Bool { state.withLock { $0.isStopped || $0.isStopAnnounced } }

  /// The number of held requests.
  var heldCount: Int { state.withLock { $0.signals.values.reduce(0) { $0 + $1.count } } }

  /// The number of requests of computers that ask to join.
  var joiningCount: Int { state.withLock(\.joiningCount) }

  private func forget(_ topic: Topic, _ key: Int) {
    state.withLock { state in
      let forgotten = state.signals[topic]?.removeValue(forKey: key)
      if topic.isJoining, forgotten != nil { state.joiningCount -= 1 }
      if state.signals[topic]?.isEmpty == true { state.signals[topic] = nil }
    }
  }
}

extension ChangeBoard.Topic {
  fileprivate var isJoining: Bool { if case .joining = self { true } else { false } }
}
