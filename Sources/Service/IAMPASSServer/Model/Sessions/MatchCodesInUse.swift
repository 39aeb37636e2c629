import IAMPASSProtocol

/// The match codes that a user's terminals show, or showed so recently that they may still be typed.
///
/// If two requests had the same code, a user who types their terminal's code could approve the other request.
struct MatchCodesInUse {
  /// How long a code is not reused after its request was answered or ended, in seconds.
  static let rest: Int64 = 120
  /// The codes that are reserved for requests at the computer itself: strangers who begin and abandon requests over the
  /// network must not use up all codes.
  static let reservedForLocal = 30
  private static let all = 100

  /// The most codes of one source that rest at the same time. A source over the network that would use more must wait.
  static let greatestOfSource = all - reservedForLocal

  /// A code of an ended request that may still be typed.
  private struct Resting {
    let code: String
    let source: String
    /// Whether the request was not answered and came over the network.
    let mayBeUnauthenticated: Bool
  }

  /// Codes that terminals show now, or whose request was recently answered. They are not reused.
  private let shown: Set<String>
  /// The resting codes; the one that ended first comes first.
  private let resting: [Resting]

  /// A code of a session that has ended.
  struct Ended: Sendable {
    let code: String
    let source: String
    /// Whether it came over the network; nil if the stored context is damaged. The code then counts as the user's own,
    /// and rests.
    let isRemote: Bool?
    let isApproved: Bool
    let ending: SessionLifecycle.Ending?
  }

  /// Codes of sessions that ended before this time no longer rest.
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
        code: one.code, source: one.source, mayBeUnauthenticated: isUnanswered && one.isRemote == true)
    }
  }

  /// Two decimal digits that are not in use, uniformly distributed; nil if too few are left.
  ///
  /// Strangers who begin and abandon requests from many addresses must not lock the user out. So if only the reserved
  /// codes are left, a request over the network gets the code of another source's unanswered request: the one that has
  /// rested longest.
  func fresh(for source: RequestSource) throws(StorageError) -> Secret? {
    let free = free
    guard source.isRemote else {
      return free.isEmpty ? nil : Secret(free[try RandomValue.number(below: free.count)])
    }
    guard !isUsedUp(by: source) else { return nil }
    if free.count > Self.reservedForLocal { return Secret(free[try RandomValue.number(below: free.count)]) }
    return reusable(for: source).map { Secret($0) }
  }

  /// The code that the computer chose; nil if it may not have it. The rules are those of ``fresh(for:)``, except that
  /// any code of others' unanswered requests is allowed.
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
    shown.union(resting.filter { !$0.mayBeUnauthenticated || $0.source == source.text }.map(\.code))
  }

  /// A resting code to reuse. It is not one of the same source, because the user may still look at the earlier code.
  private func reusable(for source: RequestSource) -> String? {
    let kept = kept(from: source)
    let newest = Dictionary(resting.enumerated().map { ($1.code, $0) }, uniquingKeysWith: max)
    return newest.filter { !kept.contains($0.key) }.min { $0.value < $1.value }?.key
  }
}
