import HostSystem
import IAMPASSClient

/// When the helper connects to a lost bus again: after 250 ms, then after twice as long each time, up to 30 s.
struct BusPause {
  /// The first pause, in milliseconds.
  static let shortest: Int64 = 250
  static let longest: Int64 = 30_000

  private let first: Int64
  private var next: Int64
  /// No connection is tried before this time; nil if there is no pause.
  private(set) var end: MonotonicInstant?

  init(first: Int64 = shortest) {
    self.first = first
    next = first
  }

  func isOver(at now: MonotonicInstant) -> Bool { end.map { now >= $0 } ?? true }

  mutating func begin(at now: MonotonicInstant) {
    end = now.advanced(milliseconds: next)
    next = min(next * 2, Self.longest)
  }

  /// Begins with the shortest pause again, because an answer came. A connection alone does not count: a bus that
  /// accepts connections and never answers would delay a call every 250 ms.
  mutating func reset() { self = BusPause(first: first) }
}
