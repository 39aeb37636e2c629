import HostState

/// What the configuration says of sessions that leave, end or cannot be asked for. Times are milliseconds.
public struct WatchPolicy: Sendable, Equatable {
  public var onWalkaway: Configuration.EndAction
  public var walkawayGrace: Int64
  public var onEnd: Configuration.EndAction
  public var onExpiry: Configuration.EndAction
  /// Nil: locks graphical sessions at a local seat, ignores others.
  public var onUnreachable: Configuration.EndAction?
  public var unreachableGrace: Int64
  public var onPresenceLeft: Configuration.EndAction
  public var onPresenceUnknown: Configuration.EndAction

  /// For a session that the service does not know of: nobody but its time ends it, so that its time does.
  var withEnds: WatchPolicy {
    var policy = self
    if onExpiry == .ignore { policy.onExpiry = .logout }
    return policy
  }

  public init(_ configuration: Configuration) {
    onWalkaway = configuration.onWalkaway
    walkawayGrace = configuration.walkawayGrace * 1_000
    onEnd = configuration.onEnd
    onExpiry = configuration.onExpiry
    onUnreachable = configuration.onUnreachable
    unreachableGrace = configuration.unreachableGrace * 1_000
    onPresenceLeft = configuration.onPresenceLeft
    onPresenceUnknown = configuration.onPresenceUnknown
  }
}
