import HostSystem
import IAMPASSClient

/// When a lost bus is tried again: after a quarter of a second, then after twice as long each time, up to half a minute.
struct BusPause {
  /// Milliseconds.
  static let shortest: Int64 = 250
  static let longest: Int64 = 30_000

  private let first: Int64
  private var next: Int64
  /// The point before which the bus is left alone; nil if there is none.
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

  /// An answer came. A mere connection does not count: otherwise a bus that accepts
  /// connections and never answers would cost a whole bound each quarter of a second.
  mutating func reset() { self = BusPause(first: first) }
}
