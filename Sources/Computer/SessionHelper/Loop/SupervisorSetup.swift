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
  /// Where the service's list of users is kept; nil: users are not from the service.
  let userList: UserListKeeper.Place?
  /// What approvals are verified by; nil: the service is believed.
  let phoneTrust: PhoneTrust?

  public init(_ setup: HostSetup) throws(Misconfiguration) { try self.init(setup, setup.configuration) }

  init(_ setup: HostSetup, _ configuration: Configuration) throws(Misconfiguration) {
    policy = WatchPolicy(configuration)
    onLockFailure = configuration.onLockFailure
    onLinger = configuration.onLinger
    settings = try setup.serviceSettings()
    presence = configuration.presence == .bluetooth ? PresencePolicy(configuration) : nil
    userList =
      configuration.users == .service
      ? UserListKeeper.Place(
        path: setup.serviceUsersPath, state: setup.state, credential: try setup.credential().applicationID,
        origin: settings.server.origin) : nil
    phoneTrust = setup.phoneTrust
    requiresAuthenticatedKeys = configuration.presenceKey == .authenticated
  }
}
