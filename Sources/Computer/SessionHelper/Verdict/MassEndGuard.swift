/// Guards against a service that has lost its data. If sessions of five or more users, and of over half of all users,
/// end within a minute, the helper ends none of them.
///
/// Users are counted, not sessions: one user with many sessions does not make a crowd. A user is named by the uid. Pure; times are
/// milliseconds after boot.
public struct MassEndGuard: Sendable {
  /// The guard acts from this number of users on.
  public static let leastUsers = 5
  /// Ends within this time count together, in milliseconds.
  public static let window: Int64 = 60_000

  /// Recent ends, whether they were allowed or not.
  private var ended: [(user: UInt32, time: Int64)] = []

  public init() {}

  /// Whether ends may be acted on. They were not left alone before.
  ///
  /// - Parameters:
  ///   - ending: users whose sessions are about to be ended.
  ///   - doubted: users with another session that the service reports as ended or does not know.
  ///   - sound: users whose sessions the service has just confirmed.
  public func allows(ending: Set<UInt32>, doubted: Set<UInt32>, sound: Set<UInt32>, at now: Int64) -> Bool {
    let bad = bad(ending.union(doubted), now)
    return bad.count < Self.leastUsers || sound.subtracting(bad).count >= bad.count
  }

  /// Counts ends. They count together with those that follow within a minute.
  public mutating func count(_ ending: Set<UInt32>, at now: Int64) {
    ended.removeAll { now - $0.time > Self.window }
    ended += ending.map { ($0, now) }
  }

  /// Whether sessions that were left alone may be ended after all. The service must have confirmed sessions of as many
  /// other users, and have known these sessions at that time. Sessions that were closed meanwhile do not count.
  ///
  /// - Parameter bad: users whose sessions are left alone or doubted.
  public static func isRefuted(bad: Set<UInt32>, soundSince: Set<UInt32>) -> Bool {
    soundSince.subtracting(bad).count >= bad.count
  }

  /// Whether the service has confirmed enough users' sessions. Further answers need not be awaited then.
  public func isOutweighed(ending: Set<UInt32>, doubted: Set<UInt32>, sound: Set<UInt32>, at now: Int64) -> Bool {
    let bad = bad(ending.union(doubted), now)
    return sound.subtracting(bad).count >= bad.count
  }

  /// Users with an end in the last minute. Their sessions may be gone already.
  public func recent(at now: Int64) -> Set<UInt32> {
    Set(ended.lazy.filter { now - $0.time <= Self.window }.map(\.user))
  }

  private func bad(_ users: Set<UInt32>, _ now: Int64) -> Set<UInt32> { users.union(recent(at: now)) }
}
