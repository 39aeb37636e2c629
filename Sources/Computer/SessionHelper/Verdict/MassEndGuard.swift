/// Keeps a service that has lost its memory from emptying an office: if sessions of over half of the users, and of five
/// or more, end within a minute, none of them is ended here.
///
/// Users are counted, not sessions: one user with many sessions does not make a crowd. A user is named by the uid. Pure; times are
/// milliseconds after boot.
public struct MassEndGuard: Sendable {
  /// Fewer users do not make a crowd.
  public static let leastUsers = 5
  /// Ends within this time count together.
  public static let window: Int64 = 60_000

  /// Ends of late, let through or not.
  private var ended: [(user: UInt32, time: Int64)] = []

  public init() {}

  /// Whether ends may be acted on that were not left alone before.
  ///
  /// - Parameters:
  ///   - ending: whose sessions are about to be ended.
  ///   - doubted: of whose further sessions the service speaks of an end, or does not know them.
  ///   - sound: of whose sessions the service has just said nothing bad.
  public func allows(ending: Set<UInt32>, doubted: Set<UInt32>, sound: Set<UInt32>, at now: Int64) -> Bool {
    let bad = bad(ending.union(doubted), now)
    return bad.count < Self.leastUsers || sound.subtracting(bad).count >= bad.count
  }

  /// Counts ends, for those that come within a minute.
  public mutating func count(_ ending: Set<UInt32>, at now: Int64) {
    ended.removeAll { now - $0.time > Self.window }
    ended += ending.map { ($0, now) }
  }

  /// Whether what was left alone may be ended after all: as many users' sessions, which the service knew at that time
  /// already, are sound by now. That some of the others have left shows nothing.
  ///
  /// - Parameter bad: whose sessions are left alone or doubted.
  public static func isRefuted(bad: Set<UInt32>, soundSince: Set<UInt32>) -> Bool {
    soundSince.subtracting(bad).count >= bad.count
  }

  /// Whether enough users' sessions are known to be sound, so that no further answer need be waited for.
  public func isOutweighed(ending: Set<UInt32>, doubted: Set<UInt32>, sound: Set<UInt32>, at now: Int64) -> Bool {
    let bad = bad(ending.union(doubted), now)
    return sound.subtracting(bad).count >= bad.count
  }

  private func bad(_ users: Set<UInt32>, _ now: Int64) -> Set<UInt32> {
    users.union(ended.lazy.filter { now - $0.time <= Self.window }.map(\.user))
  }
}
