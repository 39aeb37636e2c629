import CHost

/// A point of CLOCK_MONOTONIC: a change of the wall clock does not move waits.
public struct MonotonicInstant: Sendable, Comparable {
  public let nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public static func now() -> MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

  /// This point moved by `milliseconds`.
  public func advanced(milliseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: nanoseconds + milliseconds * 1_000_000)
  }

  /// Milliseconds from `earlier` to here, rounded up; negative if `earlier` is later.
  public func milliseconds(since earlier: MonotonicInstant) -> Int64 {
    let difference = nanoseconds - earlier.nanoseconds
    return difference > 0 ? (difference + 999_999) / 1_000_000 : difference / 1_000_000
  }
}
