import IAMPASSProtocol

/// What the commands beside the service ask of its storage. A service may be running meanwhile.
public protocol OperatorStore: JoinStore, UserListStore, AdministratorStore, ForkedComputers, SigningStore {
  /// Service time: see ``StorageClock``.
  func now() -> UnixTime

  /// A new application. Its secret is to be shown this one time. Throws ``ApplicationRefusal``.
  func createApplication(named name: String, matchCodes: MatchCodes, at now: UnixTime) async throws -> Application

  /// Undoes ``createApplication(named:matchCodes:at:)`` if nobody has seen the secret: the name is free again.
  func takeBack(_ application: Application, at now: UnixTime) async throws

  /// All applications, by their names.
  func listedApplications() async throws -> [ListedApplication]

  /// Changes an application's settings, for requests from now on. Throws ``ApplicationRefusal``.
  func set(_ change: SettingsChange, ofApplicationNamed name: String) async throws

  /// Lets an administrator's phone answer once for a user, within ``Locum/lifetime`` seconds, in the place of what was
  /// allowed before. The audit says so. Throws ``LocumRefusal``.
  func allowLocum(_ order: LocumOrder, at now: UnixTime) async throws -> AllowedLocum

  /// Takes requests of a user again that denials and reports kept from the phone. The audit says so, unless there was
  /// nothing to lift. Throws ``UserListRefusal``.
  ///
  /// - Parameters:
  ///   - user: by the Unix name on the application's list, or by the user's id.
  ///   - application: its name or id.
  /// - Returns: what was lifted.
  func liftBlocks(of user: String, of application: String, at now: UnixTime) async throws -> RequestBlocks

  /// A new credential for a host of the application with this name or id. Its secret is to be shown this one time.
  /// Throws ``HostCredentialRefusal``.
  func createHostCredential(
    named name: String, host: String, of application: String, at now: UnixTime
  ) async throws -> HostCredential

  /// A new OpenID client of the application with this name or id, with its secret, which is to be shown this one time.
  /// Throws ``HostCredentialRefusal``.
  ///
  /// - Parameter shown: what phones call the program.
  func createOpenIDClient(
    named name: String, shown: String, of application: String, at now: UnixTime
  ) async throws -> (client: HostCredential, secret: Secret)

  /// The usable credentials first, each by its name; with times for people. Throws ``HostCredentialRefusal``.
  ///
  /// - Parameter areOpenID: OpenID clients, and not those of hosts.
  func hostCredentials(of application: String, areOpenID: Bool) async throws -> [HostCredential]

  /// Revokes the usable credential of this name. Throws ``HostCredentialRefusal``.
  ///
  /// - Parameter isOpenID: an OpenID client, and not a host's.
  func revokeHostCredential(named name: String, of application: String, isOpenID: Bool, at now: UnixTime) async throws

  /// The code of a new link into the console. It works once, within ten minutes.
  func createConsoleLink(at now: UnixTime) async throws -> Secret

  /// The service's last known address, for links; nil before its first start.
  func serviceAddress() async throws -> String?
  func setServiceAddress(_ address: String) async throws

  /// `--public-url` of the service's last start; nil without it.
  func publicAddress() async throws -> String?
  func setPublicAddress(_ address: String?) async throws

  /// The published keys, the newest first. The first of all is made here.
  func publishedKeys(at now: UnixTime) async throws -> [PublishedKey]

  /// Makes a new key, by which tokens are signed after ``SigningKey/lead``.
  ///
  /// - Parameter isUrgent: signs by it at once, and removes all others.
  /// - Returns: the published keys, the newest first; nil if the newest does not sign yet. Nothing is made then.
  func rotatedKeys(at now: UnixTime, isUrgent: Bool) async throws -> [PublishedKey]?

  /// Rings the application's own apps by these settings from now on. Throws ``ApplicationRefusal``.
  ///
  /// - Parameter application: its name or id.
  func setNotifications(_ settings: NotificationSettings, of application: String, at now: UnixTime) async throws

  /// Does not use this service from now on. Throws ``ApplicationRefusal``.
  ///
  /// - Returns: false if it was not set.
  func removeNotifications(_ service: NotificationService, of application: String) async throws -> Bool

  /// What is set, without the keys. Throws ``ApplicationRefusal``.
  func notifications(of application: String) async throws -> [NotificationSummary]

  /// Entries of the audit with greater ids, the oldest first: for reading all of them in portions.
  func auditEntries(after id: Int64, limit: Int) async throws -> [AuditEntry]

  /// The place in the audit after which the entries of `time` and later are, with some older ones.
  func auditPlace(before time: UnixTime) async throws -> Int64

  /// Kept answers of phones, the oldest first, each as a line of JSON with the number to go on after.
  func keptAnswers(after id: Int64, limit: Int) async throws -> [(id: Int64, jsonLine: String)]

  /// What could lose data that was stored; empty if nothing that is known could. Throws for a damaged database.
  func problems() async throws -> [String]

  /// Nothing works afterwards.
  func close() throws
}

extension OperatorStore {
  /// Those of hosts.
  public func hostCredentials(of application: String) async throws -> [HostCredential] {
    try await hostCredentials(of: application, areOpenID: false)
  }

  /// A host's.
  public func revokeHostCredential(named name: String, of application: String, at now: UnixTime) async throws {
    try await revokeHostCredential(named: name, of: application, isOpenID: false, at: now)
  }
}
