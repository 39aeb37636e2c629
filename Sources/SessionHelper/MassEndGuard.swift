/// Keeps a service that has lost its memory from emptying an office: where over half of five or more sessions end
/// within a minute, none of them is ended here.
///
/// Pure; times are milliseconds after boot.
public struct MassEndGuard: Sendable {
  /// Fewer sessions are no crowd.
  public static let leastCount = 5
  /// Ends within this time count together.
  public static let window: Int64 = 60_000

  /// Ends of late, let through or not.
  private var ended: [Int64] = []

  public init() {}

  /// Whether ends may be acted on.
  ///
  /// - Parameters:
  ///   - ending: sessions that are about to be ended.
  ///   - doubted: further sessions whose service speaks of an end or does not know them.
  ///   - sound: sessions that the service has just said nothing bad of.
  public mutating func allows(ending: Int, doubted: Int, sound: Int, at now: Int64) -> Bool {
    let isFew = bad(ending, doubted, now) + sound < Self.leastCount
    let isAllowed = isFew || isOutweighed(ending: ending, doubted: doubted, sound: sound, at: now)
    ended.removeAll { now - $0 > Self.window }
    ended += Array(repeating: now, count: ending)
    return isAllowed
  }

  /// Whether enough sessions are known to be sound, so that no further answer need be waited for.
  public func isOutweighed(ending: Int, doubted: Int, sound: Int, at now: Int64) -> Bool {
    sound >= bad(ending, doubted, now)
  }

  private func bad(_ ending: Int, _ doubted: Int, _ now: Int64) -> Int {
    ending + doubted + ended.count { now - $0 <= Self.window }
  }
}
