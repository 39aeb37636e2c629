import Synchronization

/// Values that were read recently, by id, in bounded memory.
final class Remembered<Value: Sendable>: Sendable {
  /// The most values. Each takes some hundred bytes.
  static var greatestCount: Int { 10_000 }

  private let known = Mutex<[String: Value]>([:])

  subscript(_ id: String) -> Value? { known.withLock { $0[id] } }

  func keep(_ value: Value, as id: String) {
    known.withLock { known in
      // Values that are still used are read again.
      if known.count >= Self.greatestCount, known[id] == nil { known.removeAll(keepingCapacity: true) }
      known[id] = value
    }
  }

  func forget(_ id: String) { known.withLock { $0[id] = nil } }
}
