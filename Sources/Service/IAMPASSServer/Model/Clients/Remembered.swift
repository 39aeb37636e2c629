import Synchronization

/// What was read lately, by its id, in bounded memory.
final class Remembered<Value: Sendable>: Sendable {
  /// Each takes some hundred bytes.
  static var greatestCount: Int { 10_000 }

  private let known = Mutex<[String: Value]>([:])

  subscript(_ id: String) -> Value? { known.withLock { $0[id] } }

  func keep(_ value: Value, as id: String) {
    known.withLock { known in
      // Those that are still asked for come back by themselves.
      if known.count >= Self.greatestCount, known[id] == nil { known.removeAll(keepingCapacity: true) }
      known[id] = value
    }
  }
}
