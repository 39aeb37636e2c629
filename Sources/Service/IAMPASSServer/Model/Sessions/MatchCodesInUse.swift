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

  /// Codes of one source that rest at the same time. A source over the network that uses up more of them waits.
  static let greatestOfSource = all - reservedForLocal

  /// A code of a request that has ended, and that somebody may still type.
  private struct Resting {
    let code: String
    let source: String
    /// Nobody answered the request, and it came over the network.
    let mayBeAStrangers: Bool
  }

  /// Codes that terminals show now, or whose request was answered a short time ago: they are never given again.
  private let shown: Set<String>
  /// The one that ended first comes first.
  private let resting: [Resting]

  /// A code of a session that has ended.
  struct Ended: Sendable {
    let code: String
    let source: String
    /// It came over the network. Nil if the stored context is damaged: the code then counts as the user's own, and rests.
    let isRemote: Bool?
    let isApproved: Bool
    let ending: SessionLifecycle.Ending?
  }

  /// Codes of sessions that ended until then rest no more.
  static func start(at now: UnixTime) -> UnixTime { now.advanced(seconds: -rest) }

  /// - Parameters:
  ///   - unended: the user's sessions that had not ended when last stored.
  ///   - ended: codes of the user's sessions that ended since ``start(at:)``, the first to end first.
  init(_ unended: [Session], ended: [Ended], at now: UnixTime) {
    let start = Self.start(at: now)
    shown = Set(
      unended.filter { $0.lifecycle.approvedAt.map { $0 > start } ?? true }.compactMap { $0.matchCode?.exposedValue })
    resting = ended.map { one in
      let isUnanswered = !one.isApproved && [.loggedOut, .notAnswered].contains(one.ending)
      return Resting(
        code: one.code, source: one.source, mayBeAStrangers: isUnanswered && one.isRemote == true)
    }
  }

  /// Two decimal digits that are not in use, each of them as likely as any other; nil if too few are left.
  ///
  /// Strangers who begin requests from many addresses, and give them up at once, must not keep the user out. So if only the
  /// codes for those at the computer are left, a request over the network gets the code of another source's request that
  /// nobody answered: the code that has rested longest.
  func fresh(for source: RequestSource) throws(StorageError) -> Secret? {
    let free = free
    guard source.isRemote else {
      return free.isEmpty ? nil : Secret(free[try RandomValue.number(below: free.count)])
    }
    guard !isUsedUp(by: source) else { return nil }
    if free.count > Self.reservedForLocal { return Secret(free[try RandomValue.number(below: free.count)]) }
    return reusable(for: source).map { Secret($0) }
  }

  /// The code that the computer drew, if it may have it: by the rules of ``fresh(for:)``, except that any of the codes
  /// of others' unanswered requests will do.
  func take(_ code: Secret, for source: RequestSource) -> Secret? {
    guard !isUsedUp(by: source) else { return nil }
    let free = free
    let isFree = free.contains(code.exposedValue)
    guard source.isRemote, free.count <= Self.reservedForLocal else { return isFree ? code : nil }
    return !isFree && !kept(from: source).contains(code.exposedValue) ? code : nil
  }

  /// Whether a source over the network has used up its share of codes, and has to wait.
  private func isUsedUp(by source: RequestSource) -> Bool {
    source.isRemote && resting.count(where: { $0.source == source.text }) >= Self.greatestOfSource
  }

  private var free: [String] {
    let used = shown.union(resting.map(\.code))
    return (0..<Self.all).map { String(Self.all + $0).suffix(2).description }.filter { !used.contains($0) }
  }

  /// The codes that `source` must not get while they are shown or rest.
  private func kept(from source: RequestSource) -> Set<String> {
    shown.union(resting.filter { !$0.mayBeAStrangers || $0.source == source.text }.map(\.code))
  }

  /// Never of the same source: the user may still look at the code before.
  private func reusable(for source: RequestSource) -> String? {
    let kept = kept(from: source)
    let newest = Dictionary(resting.enumerated().map { ($1.code, $0) }, uniquingKeysWith: max)
    return newest.filter { !kept.contains($0.key) }.min { $0.value < $1.value }?.key
  }
}
