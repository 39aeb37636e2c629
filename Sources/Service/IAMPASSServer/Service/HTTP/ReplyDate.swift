import Glibc
import Synchronization

/// The time in the header `Date` (RFC 9110 §6.6.1), by the wall clock.
enum ReplyDate {
  private static let latest = Mutex<(time: time_t, text: String)>((0, ""))

  static func now() -> String {
    let now = time(nil)
    return latest.withLock { latest in
      // Hundreds of replies have the same second.
      if latest.time != now { latest = (now, text(of: now)) }
      return latest.text
    }
  }

  /// The form of RFC 9110 §5.6.7. This process never leaves the C locale, so names of days and months are English.
  static func text(of time: time_t) -> String {
    var (time, parts) = (time, tm())
    gmtime_r(&time, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { bytes in
      // SAFETY: strftime(3) writes no more than `count` bytes, the last of which is zero.
      strftime(bytes.baseAddress!, bytes.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
      return String(cString: bytes.baseAddress!)
    }
  }
}
