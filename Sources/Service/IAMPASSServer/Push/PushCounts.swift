import Synchronization

/// Counts the results of messages to phones.
final class PushCounts: Sendable {
  enum Service: String, Sendable {
    case web, apple, google
    /// The message was dropped before its phones were looked up.
    case any
  }

  enum Result: String, Sendable {
    case delivered
    /// The phone's subscription has ended.
    case gone
    case failed
    /// Too many messages were under way.
    case dropped
  }

  struct Kind: Hashable, Sendable {
    let service: Service
    let result: Result
  }

  private let state = Mutex<[Kind: Int64]>([:])

  var counts: [Kind: Int64] { state.withLock(\.self) }

  func count(_ service: Service, _ result: Result) {
    state.withLock { $0[Kind(service: service, result: result), default: 0] += 1 }
  }
}
