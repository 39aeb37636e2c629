import Synchronization

/// Values that were read recently, by id, in bounded memory.
///
/// They are in two halves. Once the newer one is full, it becomes the older one, and what was in that is dropped unless
/// it was asked for meanwhile. So however many values there are, those that are in use are not all read again at once.
final class Remembered<Value: Sendable>: Sendable {
  private struct State {
    var newer: [String: Value] = [:]
    var older: [String: Value] = [:]

    mutating func put(_ value: Value, as id: String, half: Int) {
      if newer.count >= half, newer[id] == nil {
        older = newer
        newer = [:]
      }
      newer[id] = value
      // One that is out of date must not come back.
      older[id] = nil
    }
  }

  private let half: Int
  private let state = Mutex(State())

  /// - Parameter greatestCount: the most values. By default they are the sessions of a company, at some hundred bytes each.
  init(greatestCount: Int = 50_000) { half = greatestCount / 2 }

  /// The number of values.
  var count: Int { state.withLock { $0.newer.count + $0.older.count } }

  subscript(_ id: String) -> Value? {
    state.withLock { state -> Value? in
      if let value = state.newer[id] { return value }
      guard let value = state.older[id] else { return nil }
      state.put(value, as: id, half: half)
      return value
    }
  }

  func keep(_ value: Value, as id: String) { state.withLock { $0.put(value, as: id, half: half) } }

  func forget(_ id: String) {
    state.withLock {
      $0.newer[id] = nil
      $0.older[id] = nil
    }
  }

  func forgetAll() { state.withLock { $0 = State() } }
}
