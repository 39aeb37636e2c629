import Glibc

/// A point in time that is valid after a restart: milliseconds since 1970. It is by the wall clock, or in service time,
/// which cannot be set: see ``StorageClock``.
public struct UnixTime: Sendable, Comparable, Hashable {
  public let milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }
  public init(seconds: Int64) { milliseconds = seconds * 1_000 }

  /// Rounded down, as in the signed time stamps.
  public var seconds: Int64 { milliseconds / 1_000 }

  public func advanced(seconds: Int64) -> UnixTime { advanced(milliseconds: seconds * 1_000) }
  public func advanced(milliseconds: Int64) -> UnixTime {
    UnixTime(milliseconds: self.milliseconds + milliseconds)
  }

  /// The time in UTC, such as `2027-01-15T08:00:00Z` (RFC 3339).
  public var text: String {
    var time = time_t(seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    return String(unsafeUninitializedCapacity: 32) { buffer in
      // SAFETY: strftime writes at most the buffer's size, and this format is ASCII.
      buffer.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress!, $0.count, "%Y-%m-%dT%H:%M:%SZ", &parts) }
    }
  }

  /// Parses the form of ``text``, or a date alone, which is the beginning of that day. Nil for other texts, and for a
  /// day or an hour that does not exist.
  public init?(text: String) {
    let whole = text.utf8.count == 10 ? text + "T00:00:00Z" : text
    let numbers = whole.split { "-T:Z".contains($0) }.compactMap { Int32($0) }
    guard numbers.count == 6, numbers.allSatisfy({ (0...9_999).contains($0) }), numbers[0] >= 1970 else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1_900, numbers[1] - 1, numbers[2])
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
    self.init(seconds: Int64(timegm(&parts)))
    // timegm(3) turns the 31st of February into a day of March, and numbers have other spellings.
    guard self.text == whole else { return nil }
  }

  /// Milliseconds from `earlier` to here; negative if `earlier` is later.
  public func milliseconds(since earlier: UnixTime) -> Int64 { milliseconds - earlier.milliseconds }

  /// The wall clock's time, which people and the network can set. Do not use it for deadlines or ages.
  @Sendable public static func now() -> UnixTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UnixTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
  }

  public static func < (left: UnixTime, right: UnixTime) -> Bool { left.milliseconds < right.milliseconds }
}
