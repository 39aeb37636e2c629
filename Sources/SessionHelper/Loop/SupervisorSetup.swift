import HostState
import IAMPASSClient

/// What the configuration says, as far as the helper needs it.
public struct SupervisorSetup {
  public let policy: WatchPolicy
  public let onLockFailure: Configuration.LockFailureAction
  public let onLinger: Configuration.LingerAction
  public let settings: ServiceSettings
  /// Nil: no phone is looked for.
  public let presence: PresencePolicy?
  /// Whether pairings count only if somebody compared digits.
  public let requiresAuthenticatedKeys: Bool

  public init(_ setup: HostSetup) throws(Misconfiguration) { try self.init(setup, setup.configuration) }

  init(_ setup: HostSetup, _ configuration: Configuration) throws(Misconfiguration) {
    policy = WatchPolicy(configuration)
    onLockFailure = configuration.onLockFailure
    onLinger = configuration.onLinger
    settings = try setup.serviceSettings()
    presence = configuration.presence == .bluetooth ? PresencePolicy(configuration) : nil
    requiresAuthenticatedKeys = configuration.presenceKey == .authenticated
  }
}
