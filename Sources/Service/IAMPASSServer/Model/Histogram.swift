import Synchronization

/// A number to which many threads add without waiting for each other.
final class Counter: Sendable {
  private let number = Atomic<Int64>(0)

  var count: Int64 { number.load(ordering: .relaxed) }

  func add(_ more: Int64 = 1) { number.add(more, ordering: .relaxed) }
}

/// A histogram of durations: the number in each fixed span, and the sum. Adding a duration does not wait.
final class Histogram: Sendable {
  /// The ends of the spans, in microseconds, and in seconds as OpenMetrics writes them. A last span has no end.
  static let ends: [(microseconds: Int64, seconds: String)] = [
    (1_000, "0.001"), (5_000, "0.005"), (10_000, "0.01"), (25_000, "0.025"), (50_000, "0.05"), (100_000, "0.1"),
    (250_000, "0.25"), (500_000, "0.5"), (1_000_000, "1.0"), (2_500_000, "2.5"), (5_000_000, "5.0"),
    (10_000_000, "10.0"),
  ]

  private let counts = (0...ends.count).map { _ in Counter() }
  private let sum = Counter()

  func note(_ time: Duration) {
    let microseconds = max(time / .microseconds(1), 0)
    let whole = Int64(min(microseconds, 1e15))
    let span = Self.ends.firstIndex { whole <= $0.microseconds } ?? Self.ends.count
    counts[span].add()
    sum.add(whole)
  }

  /// The values so far.
  struct Noted {
    /// For each span, the number of durations up to its end. The last number is all.
    let upTo: [Int64]
    let microseconds: Int64

    var count: Int64 { upTo.last ?? 0 }
  }

  var noted: Noted {
    var all: Int64 = 0
    let upTo = counts.map { counter in
      all += counter.count
      return all
    }
    return Noted(upTo: upTo, microseconds: sum.count)
  }
}
