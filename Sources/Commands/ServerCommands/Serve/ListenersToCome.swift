import Synchronization

/// Counts the listeners that do not listen yet: the service is ready once none is left.
final class ListenersToCome: Sendable {
  private let state: Mutex<(count: Int, status: String)>

  init(_ count: Int) { state = Mutex((count, "")) }

  /// One of them listens now.
  ///
  /// - Parameter status: what systemd shows; nil for a listener that adds nothing to it.
  /// - Returns: the status once the last of them listens; nil before.
  func isLast(_ status: String?) -> String? {
    state.withLock { state in
      state.count -= 1
      if let status { state.status = status }
      return state.count == 0 ? state.status : nil
    }
  }
}
