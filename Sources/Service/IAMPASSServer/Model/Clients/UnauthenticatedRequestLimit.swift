import Synchronization

/// Bounds the requests that use the storage before their client is authenticated. Requests beyond the bound are refused
/// at once, so that genuine clients wait for few of them.
final class UnauthenticatedRequestLimit: Sendable {
  /// The most requests at the same time. PostgreSQL reads for several at once, in a millisecond or two each, so the
  /// last one waits for some hundredths of a second.
  static let greatestCount = 128
  /// The most requests of one sender, so that one sender does not take all places.
  static let greatestShare = 64

  private struct State {
    var count = 0
    var shares: [String: Int] = [:]
  }

  private let state = Mutex(State())

  /// One request's place.
  struct Place: Sendable {
    fileprivate let owner: UnauthenticatedRequestLimit
    fileprivate let sender: String

    /// Frees the place. Call it once, when the client is authenticated or was answered.
    func leave() { owner.leave(sender) }
  }

  /// The number of places in use.
  var count: Int { state.withLock(\.count) }

  /// Takes a place for a request of this sender.
  ///
  /// - Throws: ``TooManyUnauthenticatedRequests``.
  func enter(from sender: String) throws(TooManyUnauthenticatedRequests) -> Place {
    let isIn = state.withLock { state in
      let share = state.shares[sender] ?? 0
      guard state.count < Self.greatestCount, share < Self.greatestShare else { return false }
      state.count += 1
      state.shares[sender] = share + 1
      return true
    }
    guard isIn else { throw TooManyUnauthenticatedRequests() }
    return Place(owner: self, sender: sender)
  }

  private func leave(_ sender: String) {
    state.withLock { state in
      state.count -= 1
      let share = (state.shares[sender] ?? 0) - 1
      state.shares[sender] = share > 0 ? share : nil
    }
  }
}

/// There are too many requests of clients that are not authenticated. This request was not begun.
struct TooManyUnauthenticatedRequests: Error {
  /// The time after which to try again, in seconds.
  static let pause: Int64 = 1
}
