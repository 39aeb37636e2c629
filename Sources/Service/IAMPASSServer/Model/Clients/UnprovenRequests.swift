import Synchronization

/// Requests that ask the storage before their client has proven who it is: strangers', for all that is known. Those beyond
/// a bound are refused at once, so that whoever can prove it waits for few of them.
final class UnprovenRequests: Sendable {
  /// At the same time. PostgreSQL reads for some at once, in a millisecond or two each: the last one waits for some
  /// hundredths of a second.
  static let greatestCount = 128
  /// Those of one sender, so that one machine does not take the places of all others.
  static let greatestShare = 64

  private struct State {
    var count = 0
    var shares: [String: Int] = [:]
  }

  private let state = Mutex(State())

  /// One request's place.
  struct Place: Sendable {
    fileprivate let owner: UnprovenRequests
    fileprivate let sender: String

    /// To be called once: the client has proven who it is, or was answered.
    func leave() { owner.leave(sender) }
  }

  /// How many there are.
  var count: Int { state.withLock(\.count) }

  /// A place for a request of this sender.
  ///
  /// - Throws: ``TooManyStrangers``.
  func enter(from sender: String) throws(TooManyStrangers) -> Place {
    let isIn = state.withLock { state in
      let share = state.shares[sender] ?? 0
      guard state.count < Self.greatestCount, share < Self.greatestShare else { return false }
      state.count += 1
      state.shares[sender] = share + 1
      return true
    }
    guard isIn else { throw TooManyStrangers() }
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

/// Too many requests are at work whose clients have proven nothing. Nothing was done for this one.
struct TooManyStrangers: Error {
  /// Seconds after which it is worth while to ask again.
  static let pause: Int64 = 1
}
