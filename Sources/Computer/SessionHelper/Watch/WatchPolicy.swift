import HostState

/// The configuration for sessions whose phone leaves, that end, or that the service cannot be asked about. Times are
/// milliseconds.
public struct WatchPolicy: Sendable, Equatable {
  public var onWalkaway: Configuration.EndAction
  public var walkawayGrace: Int64
  public var onEnd: Configuration.EndAction
  public var onExpiry: Configuration.EndAction
  /// Nil locks graphical sessions at a local seat, and leaves others alone.
  public var onUnreachable: Configuration.EndAction?
  public var unreachableGrace: Int64
  public var onPresenceLeft: Configuration.EndAction
  public var onPresenceUnknown: Configuration.EndAction

  /// The policy for a session that the service does not know: only its own time ends it.
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
