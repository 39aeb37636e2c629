import IAMPASSProtocol

/// The operations of the service's commands. A service may be running meanwhile.
public protocol OperatorStore: JoinStore, UserListStore, AdministratorStore, ClonedComputers, SigningStore {
  /// Service time: see ``StorageClock``.
  func now() -> UnixTime

  /// Makes an application. Its secret is shown only this once. Throws ``ApplicationRefusal``.
  func createApplication(named name: String, matchCodes: MatchCodes, at now: UnixTime) async throws -> Application

  /// Undoes ``createApplication(named:matchCodes:at:)`` if the secret was not shown. The name is free again.
  func takeBack(_ application: Application, at now: UnixTime) async throws

  /// All applications, sorted by name.
  func listedApplications() async throws -> [ListedApplication]

  /// Changes an application's settings, for requests from now on. Throws ``ApplicationRefusal``.
  func set(_ change: SettingsChange, ofApplicationNamed name: String) async throws

  /// Lets an administrator's phone answer once for a user, within ``Locum/lifetime`` seconds. It replaces an earlier
  /// permission, and has an entry in the audit. Throws ``LocumRefusal``.
  func allowLocum(_ order: LocumOrder, at now: UnixTime) async throws -> AllowedLocum

  /// Lifts the blocks by which denials and reports keep requests from a user's phone. It has an entry in the audit,
  /// unless there was nothing to lift. Throws ``UserListRefusal``.
  ///
  /// - Parameters:
  ///   - user: the user's Unix name on the application's list, or the user's id.
  ///   - application: its name or id.
  /// - Returns: the lifted blocks.
  func liftBlocks(of user: String, of application: String, at now: UnixTime) async throws -> RequestBlocks

  /// Makes a credential for a computer of the application with this name or id. Its secret is shown only this once.
  /// Throws ``HostCredentialRefusal``.
  func createHostCredential(
    named name: String, host: String, of application: String, at now: UnixTime
  ) async throws -> HostCredential

  /// Makes an OpenID client of the application with this name or id. Its secret is shown only this once. Throws
  /// ``HostCredentialRefusal``.
  ///
  /// - Parameter shown: the program's name on phones.
  func createOpenIDClient(
    named name: String, shown: String, of application: String, at now: UnixTime
  ) async throws -> (client: HostCredential, secret: Secret)

  /// The credentials sorted by name, usable ones first, with times for people. Throws ``HostCredentialRefusal``.
  ///
  /// - Parameter areOpenID: whether to list OpenID clients, and not credentials of computers.
  func hostCredentials(of application: String, areOpenID: Bool) async throws -> [KnownCredential]

  /// Revokes the usable credential of this name. Throws ``HostCredentialRefusal``.
  ///
  /// - Parameter isOpenID: whether it is an OpenID client, and not a computer's credential.
  func revokeHostCredential(named name: String, of application: String, isOpenID: Bool, at now: UnixTime) async throws

  /// Makes a link into the console, and returns its code. It is valid once, within ten minutes.
  func createConsoleLink(at now: UnixTime) async throws -> Secret

  /// The service's last known address, for links; nil before its first start.
  func serviceAddress() async throws -> String?
  func setServiceAddress(_ address: String) async throws

  /// `--public-url` at the service's last start; nil without it.
  func publicAddress() async throws -> String?
  func setPublicAddress(_ address: String?) async throws

  /// The published keys, the newest first. The first of all is made here.
  func publishedKeys(at now: UnixTime) async throws -> [PublishedKey]

  /// Makes a new key, by which tokens are signed after ``SigningKey/lead``.
  ///
  /// - Parameter isUrgent: signs by it at once, and removes all others.
  /// - Returns: the published keys, the newest first; nil if the newest does not sign yet. Nothing is made then.
  func rotatedKeys(at now: UnixTime, isUrgent: Bool) async throws -> [PublishedKey]?

  /// Uses these settings for the application's own apps from now on. Throws ``ApplicationRefusal``.
  ///
  /// - Parameter application: its name or id.
  func setNotifications(_ settings: NotificationSettings, of application: String, at now: UnixTime) async throws

  /// Removes the settings of this service. Throws ``ApplicationRefusal``.
  ///
  /// - Returns: false if there were none.
  func removeNotifications(_ service: NotificationService, of application: String) async throws -> Bool

  /// The settings without the keys. Throws ``ApplicationRefusal``.
  func notifications(of application: String) async throws -> [NotificationSummary]

  /// Entries of the audit with greater ids, oldest first, to read all of them in portions.
  func auditEntries(after id: Int64, limit: Int) async throws -> [AuditEntry]

  /// Which history of the audit this reads: another one once everything was moved away, or another file is in the place of
  /// the one that is open here. No entry comes here then, while others come there.
  func auditHistory() async throws -> String

  /// An id of the audit after which all entries of `time` and later are, with some older ones.
  func auditPlace(before time: UnixTime) async throws -> Int64

  /// Kept answers of phones, oldest first, each as a line of JSON with the number to continue after.
  func keptAnswers(after id: Int64, limit: Int) async throws -> [(id: Int64, jsonLine: String)]

  /// The entry of the audit with this id, and the phone's answer that it goes back to: that of the request itself, of the
  /// list that was signed, or of the sign-in of the administrator who made a change in the console. Nil if there is no
  /// such entry.
  func auditProof(ofEntry id: Int64) async throws -> AuditProof?

  /// The keys of the database's sealed secrets; nil if there are none, or if they are not known here.
  var sealKeys: SealKeys? { get set }

  /// Shows commands that a server runs on the database, and which of ``sealKeys`` it has, until this process ends. Throws
  /// ``StorageError`` if they do not see it; in PostgreSQL its listener tries again.
  func showServer() async throws

  /// The servers that run on the database, as far as they have shown themselves.
  func runningServers() async throws -> [RunningServer]

  /// Opens every sealed secret. Throws ``SealFault``.
  func checkSeals() async throws

  /// Opens the service's own keys, if they are sealed. Throws ``SealFault``.
  func checkOwnSeals() async throws

  /// Whether secrets in the database are sealed.
  func isSealed() async throws -> Bool

  /// Whether all secrets of sign-in clients are sealed: see ``sealSecrets(at:)``.
  func areClientsSealed() async throws -> Bool

  /// Seals all secrets by the first of ``sealKeys``: the service's own keys in one transaction, and then those of
  /// applications, computers and sessions in portions. An interrupted call has every writer seal, and the next one goes
  /// on. Throws ``SealFault``.
  ///
  /// - Returns: how many were not sealed by it before.
  func sealSecrets(at now: UnixTime) async throws -> Int

  /// Stores all secrets in clear: those of applications, computers and sessions in portions, and the service's own keys at
  /// last. Throws ``SealFault``.
  ///
  /// - Returns: how many were sealed.
  func unsealSecrets(at now: UnixTime) async throws -> Int

  /// Gives up what a lost key has sealed, and goes on by the first of ``sealKeys``: with a new push key, without browsers'
  /// subscriptions to the old one, without keys for notification services, and without signing keys, of which the next
  /// token needs a new one. Applications get secrets that nobody knows, and credentials are revoked. An interrupted call
  /// leaves the rest to the next one. Throws ``SealFault``.
  ///
  /// - Returns: nil if nothing was changed, because nothing is sealed, or because its key is not lost.
  func giveUpLostKey(at now: UnixTime) async throws -> GivenUpKey?

  /// The key that has sealed the database; nil if nothing is sealed.
  func sealingKeyID() async throws -> String?

  /// Removes what overwritten secrets have left in the database's own files, as far as the engine can. Writers may wait.
  func eraseOverwritten() async throws

  /// Known problems that could lose stored data. Throws for a damaged database.
  func problems() async throws -> [String]

  /// Closes the storage. It cannot be used afterwards.
  func close() throws
}

extension OperatorStore {
  /// The credentials of computers.
  public func hostCredentials(of application: String) async throws -> [KnownCredential] {
    try await hostCredentials(of: application, areOpenID: false)
  }

  /// Revokes a computer's credential.
  public func revokeHostCredential(named name: String, of application: String, at now: UnixTime) async throws {
    try await revokeHostCredential(named: name, of: application, isOpenID: false, at: now)
  }
}
