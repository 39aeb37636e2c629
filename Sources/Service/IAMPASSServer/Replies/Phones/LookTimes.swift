import IAMPASSProtocol

/// When the state that a page shows is read. Thousands of pages are open and silent, and each look is several questions to
/// the database.
struct LookTimes {
  /// After this many seconds without a word of a change there is a look all the same: other servers of one database speak
  /// of sessions and lists alone.
  static let silence: Int64 = 60

  /// The next look; nil: at once.
  private(set) var next: UnixTime?

  func isDue(at now: UnixTime) -> Bool { next.map { $0 <= now } ?? true }

  /// - Parameter deadline: when time alone changes something; nil: never.
  mutating func looked(at now: UnixTime, deadline: UnixTime?) {
    let silent = now.advanced(seconds: Self.silence)
    next = min(silent, deadline ?? silent)
  }

  mutating func somethingChanged() { next = nil }
}
