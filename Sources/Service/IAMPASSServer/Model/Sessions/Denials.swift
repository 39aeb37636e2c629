/// Blocks sources whose requests a user denies repeatedly. It is computed from the sessions, so a restart loses
/// nothing.
///
/// The user's other sources, and other users of that source, are not blocked.
enum Denials {
  /// The denials from one source that block it.
  static let greatestCount = 3
  /// The denials that block all sources of one host's credential, because its holder may name any source. Sources over
  /// the network and at the computer itself are counted separately: strangers at its sshd must not block the user at
  /// the keyboard.
  static let greatestCountOfHost = 9
  /// The time in which denials count together, in seconds.
  static let window: Int64 = 600
  /// How long a source stays blocked after the last denial, in seconds.
  static let pause: Int64 = 900

  /// Denials that ended before this time do not count.
  static func start(at now: UnixTime) -> UnixTime { now.advanced(seconds: -(pause + window)) }

  /// - Parameters:
  ///   - denied: the user's denials, newest first.
  ///   - source: the source of the current request.
  static func areTooMany(_ denied: [Denial], from source: RequestSource, at now: UnixTime) -> Bool {
    if reach(greatestCount, denied.filter { $0.source == source.text }, at: now) { return true }
    guard let credential = source.credential else { return false }
    let ofHost = denied.filter { $0.credential == credential && ($0.isRemote ?? source.isRemote) == source.isRemote }
    return reach(greatestCountOfHost, ofHost, at: now)
  }

  /// A denied request.
  struct Denial: Sendable {
    let source: String
    let credential: String?
    /// Whether it came over the network; nil if the stored context is damaged. The denial then counts for both kinds.
    let isRemote: Bool?
    /// When it ended, in milliseconds.
    let time: Int64
  }

  private static func reach(_ count: Int, _ denied: [Denial], at now: UnixTime) -> Bool {
    let times = denied.map(\.time)
    let isPast = { (time: Int64) in now.milliseconds - time >= pause * 1_000 }
    return zip(times, times.dropFirst(count - 1)).contains { last, first in
      !isPast(last) && last - first <= window * 1_000
    }
  }
}
