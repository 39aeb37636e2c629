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
    ended.removeAll { now - $0 > Self.window }
    let bad = ending + doubted + ended.count
    let isCrowd = bad + sound >= Self.leastCount && bad * 2 > bad + sound
    ended += Array(repeating: now, count: ending)
    return !isCrowd
  }
}
