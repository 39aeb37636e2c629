import HostState
import IAMPASSClient

/// The part of the configuration that the helper needs.
public struct SupervisorSetup {
  public let policy: WatchPolicy
  public let onLockFailure: Configuration.LockFailureAction
  public let onLinger: Configuration.LingerAction
  public let settings: ServiceSettings
  /// Nil: the helper does not look for phones.
  public let presence: PresencePolicy?
  /// Whether a pairing counts only if its digits were compared.
  public let requiresAuthenticatedKeys: Bool
  /// Where the service's list of users is kept; nil: users do not come from the service.
  let userList: UserListKeeper.Place?
  /// The keys that verify approvals; nil: the service is trusted.
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
