import IAMPASSProtocol

/// The use of a user's code, which a computer reports after it has signed the user in.
struct CodeUse: Sendable, Equatable {
  /// The most uses that a phone shows, newest first.
  static let greatestShown = 10
  /// How long a phone shows a use, in seconds.
  static let shownTime: Int64 = 30 * 86_400
  /// How long a session counts as open after the computer has reported it, in seconds. The computer reports every 15 s.
  static let openTime: Int64 = 60
  /// The least growth of that time that is stored, in seconds, so that not each report is written.
  static let leastGrowth: Int64 = 20

  let report: CodeUseReport
  /// The id of the host credential that reported it; nil for the application's own.
  let credential: String?
}

/// The result of a report.
enum CodeUseOutcome: Sendable, Equatable {
  case noted(KeptUse, user: Int64)
  case unknownUser
  case credentialRevoked
}

/// A stored use.
struct KeptUse: Sendable, Equatable {
  /// Whether the use is new. False if it was reported before.
  let isNew: Bool
  /// Whether the phone must show a change.
  let isNews: Bool
  /// Whether the user has said on the phone that it was somebody else.
  let isDisowned: Bool

  static let new = KeptUse(isNew: true, isNews: true, isDisowned: false)
}

/// Until when the session of a used code counts as open, and whether its user has disowned the use.
struct UseState: Sendable, Equatable {
  /// Until when the session counts as open; nil if there was none, or if it has ended.
  let openUntil: UnixTime?
  let isDisowned: Bool

  func isOpen(at now: UnixTime) -> Bool { !isDisowned && openUntil.map { $0 > now } ?? false }

  /// The state after a report at this time: whether the row changes, and what is kept.
  func reported(open: Bool, at now: UnixTime) -> (openUntil: UnixTime?, isChanged: Bool, kept: KeptUse) {
    let isNews = !isDisowned && isOpen(at: now) != open
    let kept = KeptUse(isNew: false, isNews: isNews, isDisowned: isDisowned)
    guard open else { return (nil, openUntil != nil, kept) }
    let until = now.advanced(seconds: CodeUse.openTime)
    let mayStay = openUntil.map { until <= $0.advanced(seconds: CodeUse.leastGrowth) } ?? false
    return (until, !mayStay, kept)
  }
}
