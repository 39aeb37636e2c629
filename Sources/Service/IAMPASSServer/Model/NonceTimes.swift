/// The nonces of requests that were taken: each works once, also after a restart, and whatever the clock is set to.
///
/// A request is taken around the time of its stamp alone. So its nonce could be forgotten once the wall clock is past
/// that time, if it were never set back. What is forgotten all the same is remembered by the span of its stamps, and
/// nothing that was signed within is taken again.
enum NonceTimes {
  /// How long nonces are kept at least, in seconds.
  static let leastTime = SignedNonce.lifetime
  /// How long nonces are kept unless there are more than ``usualCount``, in seconds. So a clock that is set back by hours
  /// keeps nobody out.
  static let usualTime: Int64 = 86_400
  /// The nonces that are kept for ``usualTime``. Each takes some hundred bytes.
  static let usualCount = 100_000

  /// Two spans with a greater gap are not joined, in milliseconds: if a clock was wrong, the gap may lie in the future, and
  /// requests from it must be accepted then.
  static let greatestGap = usualTime * 1_000

  /// The spans of time that are remembered instead of the nonces.
  ///
  /// - Parameter stamps: of nonces, at least one, in order.
  static func spans(of stamps: [Int64]) -> [ClosedRange<Int64>] {
    var spans: [ClosedRange<Int64>] = []
    for stamp in stamps {
      if let last = spans.last, stamp - last.upperBound <= greatestGap {
        spans[spans.count - 1] = last.lowerBound...stamp
      } else {
        spans.append(stamp...stamp)
      }
    }
    return spans
  }
}
