import IAMPASSProtocol

/// Decides when the state of a page is read. Thousands of pages are open without news, and each look takes several
/// questions to the database.
struct RefreshSchedule {
  /// The longest time between two looks, in seconds: other servers of one database only report changes of sessions and
  /// lists.
  static let silence: Int64 = 60

  /// When the next look is due; nil: at once.
  private(set) var next: UnixTime?

  func isDue(at now: UnixTime) -> Bool { next.map { $0 <= now } ?? true }

  /// - Parameter deadline: when a request next expires; nil: never.
  mutating func refreshed(at now: UnixTime, deadline: UnixTime?) {
    let silent = now.advanced(seconds: Self.silence)
    next = min(silent, deadline ?? silent)
  }

  mutating func somethingChanged() { next = nil }
}
