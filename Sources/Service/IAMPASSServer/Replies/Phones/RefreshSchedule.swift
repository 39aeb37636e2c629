import IAMPASSProtocol

/// Decides when the state of a page is read. Thousands of pages are open without news, and each look is a transaction.
struct RefreshSchedule {
  /// The longest time between two looks, in seconds: a command that works on the service's file tells the pages nothing.
  static let silence: Int64 = 60
  /// The same if the database tells each server what others change. Lost messages are noticed within seconds: see
  /// ``PostgreSQLChangeListener``. Only what grows old by itself, or an application's settings, waits for this look.
  static let toldSilence: Int64 = 120

  /// The longest time between two looks of this page, in seconds.
  private let longest: Int64

  /// When the next look is due; nil: at once.
  private(set) var next: UnixTime?

  /// - Parameter isTold: whether the database tells of changes that others make.
  init(isTold: Bool) { longest = isTold ? Self.toldSilence : Self.silence }

  func isDue(at now: UnixTime) -> Bool { next.map { $0 <= now } ?? true }

  /// - Parameter deadline: when a request next expires; nil: never.
  mutating func refreshed(at now: UnixTime, deadline: UnixTime?) {
    let silent = now.advanced(seconds: longest)
    next = min(silent, deadline ?? silent)
  }

  mutating func somethingChanged() { next = nil }
}
