import Synchronization

/// Counts the requests at work.
final class RequestsAtWork: Sendable {
  private struct State {
    var count = 0
    var isDraining = false
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.count } }

  /// One request's place, which is freed with this object.
  final class Presence: Sendable {
    private let owner: RequestsAtWork

    init(in owner: RequestsAtWork) { self.owner = owner }
    deinit { owner.state.withLock { $0.count -= 1 } }
  }

  /// Nil once the service stops.
  func enter() -> Presence? {
    state.withLock { state in
      guard !state.isDraining else { return nil }
      state.count += 1
      return Presence(in: self)
    }
  }

  func drain() { state.withLock { $0.isDraining = true } }
}
