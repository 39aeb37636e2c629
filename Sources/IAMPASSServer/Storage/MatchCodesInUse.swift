import GRDB
import IAMPASSProtocol

/// The codes that terminals of a user show, or showed so recently that somebody may still type them.
///
/// With one code for two requests, whoever types what their own terminal shows could approve somebody else's request.
struct MatchCodesInUse {
  /// How long a code is not given again after its request was answered or ended, in seconds.
  static let rest: Int64 = 120
  /// Codes that requests over the network leave for those at the computer itself: strangers who begin requests and give
  /// them up at once must not use all of them up.
  static let reservedForLocal = 30
  private static let all = 100

  private let codes: Set<String>

  /// - Parameter unended: the user's sessions that had not ended when last stored.
  init(of user: Int64, _ unended: [Session], at now: UnixTime, in db: Database) throws {
    let start = now.advanced(seconds: -Self.rest)
    let shown = unended.filter { $0.lifecycle.approvedAt.map { $0 > start } ?? true }.compactMap(\.matchCode)
    let ended = try String.fetchAll(
      try db.cachedStatement(
        sql: "SELECT match_code FROM session WHERE user = ? AND match_code IS NOT NULL AND ended_at > ?"),
      arguments: [user, start.milliseconds])
    codes = Set(shown.map(\.exposedValue) + ended)
  }

  /// Two decimal digits that are not in use, each of them as likely as any other; nil where too few are left.
  func fresh(for source: RequestSource) throws(StorageError) -> Secret? {
    let free = (0..<Self.all).map { String(Self.all + $0).suffix(2).description }.filter { !codes.contains($0) }
    guard free.count > (source.isRemote ? Self.reservedForLocal : 0) else { return nil }
    return Secret(free[try Fresh.number(below: free.count)])
  }

  /// For the look at what ended: a user's sessions are kept for a month.
  static let index = """
    CREATE INDEX recent_match_code ON session (user, ended_at) WHERE match_code IS NOT NULL AND ended_at IS NOT NULL;
    """
}
