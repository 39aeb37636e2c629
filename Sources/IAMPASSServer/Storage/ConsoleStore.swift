import IAMPASSProtocol

/// What the administrators' console shows and changes.
protocol ConsoleStore: Sendable {
  // MARK: Who may use it

  /// The code of a new link into the console. It works once, within ten minutes.
  func createConsoleLink(at now: UnixTime) async throws -> Secret

  /// Whether the link into the console can be used; reading it changes nothing.
  func isUsable(consoleLink code: Secret, at now: UnixTime) async throws -> Bool

  /// Uses the link up and begins a browser's visit. A second browser with the link is refused.
  ///
  /// - Parameters:
  ///   - key: the new visit's.
  ///   - client: for the audit.
  /// - Returns: false if the link is unknown, used or expired.
  func enterConsole(
    by code: Secret, key: Secret, from client: ClientAddress, at now: UnixTime
  ) async throws -> Bool

  /// A browser's visit; nil if there is none or its time is over.
  func consoleVisit(_ key: Secret, at now: UnixTime) async throws -> ConsoleVisit?

  /// Notes that the browser is still used. A power cut may undo this.
  func markUsed(consoleVisit key: Secret, at now: UnixTime) async throws

  func leaveConsole(_ key: Secret) async throws

  // MARK: What it shows

  /// All applications, by their names.
  func applications() async throws -> [ApplicationSummary]

  /// An application with its credentials and a page of its users; nil if there is none.
  ///
  /// - Parameter user: the page begins after this one.
  func application(_ id: String, usersAfter user: Int64) async throws -> ApplicationOverview?

  /// A user of an application; nil if there is none.
  func user(_ id: Int64, of application: String) async throws -> UserOverview?

  /// The newest live sessions, ``SessionSummary/greatestCount`` of them at most.
  func liveSessions() async throws -> [SessionSummary]

  // MARK: Applications

  /// The application with this id; nil if there is none.
  func application(_ id: String) async throws -> Application?

  /// A new application. Its secret is to be shown this one time. Throws ``ApplicationRefusal``.
  func createApplication(
    named name: String, matchCodes: MatchCodes, at now: UnixTime
  ) async throws -> Application

  /// The application's requests are signed with this secret from now on. What was asked with the old one and nobody
  /// answered yet is closed: it may be a thief's.
  ///
  /// - Returns: the sessions that this closed; nil for an unknown application.
  func renewSecret(of application: String, to secret: Secret, at now: UnixTime) async throws -> [Session]?

  /// Refuses sign-ins of the application from now on, or takes them again.
  ///
  /// - Returns: the unanswered requests that this closed; nil for an unknown application.
  func setDisabled(_ isDisabled: Bool, of application: String, at now: UnixTime) async throws -> [Session]?

  /// Has `step` change an application's settings.
  func changeSettings(
    of application: String, by step: @escaping @Sendable (inout ApplicationSettings) throws -> Void
  ) async throws

  // MARK: Host credentials

  /// An application's credential, revoked or not; nil if it has none with this id.
  func hostCredential(_ id: String, of application: String) async throws -> HostCredential?

  /// A new credential for a host of the application with this name or id. Its secret is to be shown this one time.
  /// Throws ``HostCredentialRefusal``.
  func createHostCredential(
    named name: String, host: String, of application: String, at now: UnixTime
  ) async throws -> HostCredential

  /// Gives an application's credential another name.
  ///
  /// - Returns: nil if the application has no such credential; false, without effect, if another usable one has the name.
  func renameCredential(_ id: String, of application: String, to name: String) async throws -> Bool?

  /// Refuses the credential from now on. What it asked and nobody answered yet is closed: it may be a thief's.
  ///
  /// - Returns: the sessions that this closed; nil if the application has no such credential.
  func revokeCredential(_ id: String, of application: String, at now: UnixTime) async throws -> [Session]?
}

/// A browser that has signed in to the console.
struct ConsoleVisit: Sendable {
  /// What its forms must contain.
  let formToken: Secret
  /// Its last use was noted some time ago.
  let isUseOld: Bool
}

/// What the console shows of one application, in one consistent view.
struct ApplicationOverview: Sendable {
  let application: ApplicationSummary
  /// The usable ones first, each by its name.
  let credentials: [HostCredential]
  let users: [UserSummary]
}

/// What the console shows of one user, in one consistent view.
struct UserOverview: Sendable {
  let application: ApplicationSummary
  let user: UserSummary
  let sessions: [SessionSummary]
}
