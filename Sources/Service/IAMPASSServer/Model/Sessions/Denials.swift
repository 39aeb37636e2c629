/// Sources whose requests a user denies again and again. Read off the sessions, so that a restart forgets nothing.
///
/// The user's other sources go on, and so do other users of that source.
enum Denials {
  /// The denials from one source that block it.
  static let greatestCount = 3
  /// The denials that block all sources which one host's credential names, since whoever holds it may name any. Sources
  /// over the network and those at the host itself are counted apart: strangers who knock at its sshd do not take away
  /// the own way in of the user at the keyboard.
  static let greatestCountOfHost = 9
  /// The time in which denials count together, in seconds.
  static let window: Int64 = 600
  /// How long a source stays blocked after the last denial, in seconds.
  static let pause: Int64 = 900

  /// Denials that ended until then count no more.
  static func start(at now: UnixTime) -> UnixTime { now.advanced(seconds: -(pause + window)) }

  /// - Parameters:
  ///   - denied: the user's, the last first.
  ///   - source: where the request of now comes from.
  static func areTooMany(_ denied: [Denial], from source: RequestSource, at now: UnixTime) -> Bool {
    if reach(greatestCount, denied.filter { $0.source == source.text }, at: now) { return true }
    guard let credential = source.credential else { return false }
    let ofHost = denied.filter { $0.credential == credential && ($0.isRemote ?? source.isRemote) == source.isRemote }
    return reach(greatestCountOfHost, ofHost, at: now)
  }

  /// A denied request, as far as it counts here.
  struct Denial: Sendable {
    let source: String
    let credential: String?
    /// Nil if the stored context is damaged: the denial then counts for both kinds.
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
