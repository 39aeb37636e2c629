import Synchronization

/// Held requests wait here for a change. Whoever commits a change says so here, so that the database is not polled.
///
/// A watch begins before the state is read, so that a change between reading and waiting is not missed.
final class ChangeBoard: Sendable {
  /// What is watched.
  enum Topic: Hashable, Sendable {
    /// By the session's id.
    case session(String)
    /// The requests of a user's phone.
    case user(Int64)
  }

  /// What one held request waits on. It ends when it is dropped.
  final class Watch: Sendable {
    fileprivate let signals: AsyncStream<Void>
    fileprivate let sender: AsyncStream<Void>.Continuation
    private let release: @Sendable () -> Void

    fileprivate init(release: @escaping @Sendable () -> Void) {
      // One signal says as much as many: look again.
      (signals, sender) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
      self.release = release
    }

    deinit { release() }

    /// No more waiting: the client has gone.
    func abandon() { sender.finish() }

    /// Returns at the next change, after `milliseconds`, or at once when there is nothing more to wait for.
    ///
    /// - Returns: false if the client has gone or the service stops.
    func wait(milliseconds: Int64) async -> Bool {
      let sender = sender
      let timer = Task {
        try await Task.sleep(for: .milliseconds(max(milliseconds, 0)))
        sender.yield()
      }
      defer { timer.cancel() }
      for await _ in signals { return true }
      return false
    }
  }

  private struct State {
    var isStopped = false
    var nextKey = 0
    var senders: [Topic: [Int: AsyncStream<Void>.Continuation]] = [:]
  }

  private let state = Mutex(State())

  func watch(_ topic: Topic) -> Watch {
    state.withLock { state in
      let key = state.nextKey
      state.nextKey += 1
      let watch = Watch { [weak self] in self?.forget(topic, key) }
      if state.isStopped {
        watch.sender.finish()
      } else {
        state.senders[topic, default: [:]][key] = watch.sender
      }
      return watch
    }
  }

  func changed(_ topic: Topic) {
    for sender in state.withLock({ Array(($0.senders[topic] ?? [:]).values) }) { sender.yield() }
  }

  /// Something may have changed for everyone who waits.
  func changedAll() {
    for sender in state.withLock({ $0.senders.values.flatMap(\.values) }) { sender.yield() }
  }

  /// Ends the oldest watches of a topic beyond `count`.
  func keepNewest(_ count: Int, of topic: Topic) {
    let senders = state.withLock { $0.senders[topic] ?? [:] }
    for (_, sender) in senders.sorted(by: { $0.key > $1.key }).dropFirst(count) { sender.finish() }
  }

  /// Answers every held request, and those to come at once.
  func stop() {
    let all = state.withLock { state in
      state.isStopped = true
      return state.senders.values.flatMap(\.values)
    }
    for sender in all { sender.finish() }
  }

  /// Whether requests are held no more: the service stops.
  var isStopped: Bool { state.withLock(\.isStopped) }

  /// How many requests are held.
  var heldCount: Int { state.withLock { $0.senders.values.reduce(0) { $0 + $1.count } } }

  private func forget(_ topic: Topic, _ key: Int) {
    state.withLock { state in
      state.senders[topic]?[key] = nil
      if state.senders[topic]?.isEmpty == true { state.senders[topic] = nil }
    }
  }
}
