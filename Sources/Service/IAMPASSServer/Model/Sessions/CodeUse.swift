import IAMPASSProtocol

/// The use of a user's code, as a computer reports it afterwards. It signs nobody in: the computer did.
struct CodeUse: Sendable, Equatable {
  /// Uses that a phone is shown, the newest.
  static let greatestShown = 10
  /// Seconds for which a phone is shown a use.
  static let shownTime: Int64 = 30 * 86_400
  /// Seconds for which a session counts as open after the computer has said so. The computer says it every 15 s.
  static let openTime: Int64 = 60
  /// Seconds by which that time grows at least, so that not each word of a computer is written down.
  static let leastGrowth: Int64 = 20
  /// Seconds for which a use is kept: as long as its entry in the audit.
  static let lifetime = AuditEntry.lifetime

  let report: CodeUseReport
  /// The id of the host credential that reported it; nil: the application's own did.
  let credential: String?
}

/// What became of a reported use.
enum NotedUse: Sendable, Equatable {
  case noted(KeptUse, user: Int64)
  case unknownUser
  case credentialRevoked
}

/// A use as it is kept.
struct KeptUse: Sendable, Equatable {
  /// False for one that was reported before.
  let isNew: Bool
  /// Whether the phone is to show something else.
  let isNews: Bool
  /// The user has said on the phone that it was somebody else.
  let isDisowned: Bool

  static let new = KeptUse(isNew: true, isNews: true, isDisowned: false)
}

/// Until when a session counts as open that a code opened, and whether its user has disowned it.
struct UseState: Sendable, Equatable {
  /// Nil for what opened no session, or whose session has ended.
  let openUntil: UnixTime?
  let isDisowned: Bool

  func isOpen(at now: UnixTime) -> Bool { !isDisowned && openUntil.map { $0 > now } ?? false }

  /// What a report at this time makes of it: whether the row changes, and what is kept.
  func reported(open: Bool, at now: UnixTime) -> (openUntil: UnixTime?, isChanged: Bool, kept: KeptUse) {
    let isNews = !isDisowned && isOpen(at: now) != open
    let kept = KeptUse(isNew: false, isNews: isNews, isDisowned: isDisowned)
    guard open else { return (nil, openUntil != nil, kept) }
    let until = now.advanced(seconds: CodeUse.openTime)
    let mayStay = openUntil.map { until <= $0.advanced(seconds: CodeUse.leastGrowth) } ?? false
    return (until, !mayStay, kept)
  }
}
