import IAMPASSProtocol

/// What the administrators' console shows and changes.
protocol ConsoleStore: AdministratorStore {
  // MARK: Who may use it

  /// Makes a link into the console, and returns its code. It is valid once, within ten minutes.
  func createConsoleLink(at now: UnixTime) async throws -> Secret

  /// Whether the link into the console can be used; reading it changes nothing.
  func isUsable(consoleLink code: Secret, at now: UnixTime) async throws -> Bool

  /// Uses the link up and begins a browser's visit. A second browser with the link is refused.
  ///
  /// - Parameters:
  ///   - key: the new visit's key.
  ///   - client: the sender, for the audit.
  /// - Returns: false if the link is unknown, used or expired.
  func enterConsole(
    by code: Secret, key: Secret, from client: ClientAddress, at now: UnixTime
  ) async throws -> Bool

  /// Stores a browser's request, so that it can enter once the phone has approved. A key that is stored already keeps its
  /// place and its time, and has this session and code.
  ///
  /// - Returns: false if all places are taken, and the browser's network has as many as any other one.
  func keep(_ request: ConsoleSignInRequest, at now: UnixTime) async throws -> Bool

  /// A browser's request; nil if there is none, or if it is too old.
  func consoleRequest(_ key: Secret, at now: UnixTime) async throws -> ConsoleSignInRequest?

  /// Uses the ask up and begins a browser's visit, if an administrator's phone has approved it.
  ///
  /// - Parameter key: the new visit's key.
  /// - Returns: the approved session; nil if it is not active, or if its user is not an administrator.
  func enterConsole(
    asked request: Secret, key: Secret, from client: ClientAddress, at now: UnixTime
  ) async throws -> Session?

  /// A browser's visit; nil if there is none or it has expired.
  func consoleVisit(_ key: Secret, at now: UnixTime) async throws -> ConsoleVisit?

  /// Notes that the browser is still in use. A power cut may undo this.
  func markUsed(consoleVisit key: Secret, at now: UnixTime) async throws

  /// Ends the browser's visit, which is then in the audit.
  func leaveConsole(_ key: Secret, at now: UnixTime) async throws

  /// Notes that somebody is given the whole audit: in the audit itself.
  func noteExport(to client: ClientAddress, at now: UnixTime) async throws

  /// A mark of data that two administrators may change at once. A page reads it before the data.
  func state(of subject: ConsoleSubject) async throws -> String

  // MARK: What it shows

  /// All applications, sorted by name.
  func applications() async throws -> [ApplicationSummary]

  /// An application with its credentials and a page of its users; nil if there is none.
  ///
  /// - Parameters:
  ///   - user: the page begins after this user.
  ///   - text: a part of a user's name, of the name on the phone, or of a group; empty: all.
  ///   - place: how many credentials come before the page of them.
  func application(
    _ id: String, usersAfter user: Int64, matching text: String, credentialsAt place: Int64
  ) async throws -> ApplicationOverview?

  /// A page of an application's groups, sorted by name; nil if there is no such application.
  ///
  /// - Parameters:
  ///   - name: the page begins after this group.
  ///   - text: a part of a group's name; empty: all.
  func groups(of application: String, after name: String, matching text: String) async throws -> GroupPage?

  /// A group of an application, with a page of its users sorted by name; nil if there is none.
  ///
  /// - Parameter user: the page begins after the user with this name.
  func group(_ name: String, of application: String, usersAfter user: String) async throws -> GroupOverview?

  /// A user of an application; nil if there is none.
  func user(_ id: Int64, of application: String) async throws -> UserOverview?

  /// Lifts the blocks by which denials and reports keep requests from a user's phone. It has an entry in the audit,
  /// unless there was nothing to lift.
  ///
  /// - Returns: the lifted blocks; nil for an unknown user.
  func liftBlocks(of user: Int64, of application: String, at now: UnixTime) async throws -> RequestBlocks?

  /// A page of the live sessions, among at most ``SessionFilter/reach`` of them if it is a search.
  func liveSessions(matching filter: SessionFilter) async throws -> SessionPage

  /// Entries of the audit, newest first, among at most ``AuditFilter/reach`` entries.
  ///
  /// - Parameter id: only entries before this one; nil: all.
  func auditEntries(matching filter: AuditFilter, before id: Int64?, limit: Int) async throws -> AuditPage

  /// Counts of sign-ins by day and result, from `day` on: days since 1970, in UTC by the wall clock.
  func signInCounts(since day: Int64) async throws -> [SignInCount]

  /// Usable credentials of computers, sorted by name, at most ``ComputerSearch/pageLength``, and among at most
  /// ``ComputerSearch/reach`` of them if it is a search by text.
  func computerPage(_ search: ComputerSearch, at now: UnixTime) async throws -> ComputerPage

  // MARK: Applications

  /// The application with this id; nil if there is none.
  func application(_ id: String) async throws -> Application?

  /// Makes an application. Its secret is shown only this once. Throws ``ApplicationRefusal``.
  func createApplication(
    named name: String, matchCodes: MatchCodes, at now: UnixTime
  ) async throws -> Application

  /// Replaces the application's secret. Unanswered requests with the old secret are closed, because they may be a
  /// thief's.
  ///
  /// - Returns: the sessions that this closed; nil for an unknown application.
  func renewSecret(of application: String, to secret: Secret, at now: UnixTime) async throws -> [Session]?

  /// Refuses the application's sign-ins from now on, or allows them again.
  ///
  /// - Returns: the unanswered requests that this closed; nil for an unknown application.
  func setDisabled(_ isDisabled: Bool, of application: String, at now: UnixTime) async throws -> [Session]?

  /// Changes an application's settings by `step`.
  func changeSettings(
    of application: String, by step: @escaping @Sendable (inout ApplicationSettings) throws -> Void
  ) async throws

  // MARK: Host credentials

  /// An application's credential, revoked or not; nil if it has none with this id.
  func hostCredential(_ id: String, of application: String) async throws -> KnownCredential?

  /// Makes a credential for a computer of the application with this name or id. Its secret is shown only this once.
  /// Throws ``HostCredentialRefusal``.
  func createHostCredential(
    named name: String, host: String, of application: String, at now: UnixTime
  ) async throws -> HostCredential

  /// Gives an application's credential another name.
  ///
  /// - Returns: nil if the application has no such credential; false, without effect, if another usable one has the name.
  func renameCredential(_ id: String, of application: String, to name: String) async throws -> Bool?

  /// Refuses the credential from now on. Its unanswered requests are closed, because they may be a thief's.
  ///
  /// - Returns: the sessions that this closed; nil if the application has no such credential.
  func revokeCredential(_ id: String, of application: String, at now: UnixTime) async throws -> [Session]?
}

/// A browser that has signed in to the console.
struct ConsoleVisit: Sendable {
  /// The token that its forms must contain.
  let formToken: Secret
  /// Whether its last use was noted some time ago.
  let isUseOld: Bool
  /// The administrator; nil if the browser used a one-time link.
  let administrator: SignedIn?

  struct SignedIn: Sendable {
    let name: String
    let role: AdministratorRole
    /// The session that the administrator's phone has approved.
    let session: String
  }
}

/// A browser's request that waits for an administrator's phone.
struct ConsoleSignInRequest: Sendable {
  /// How long it is kept, in seconds: longer than a request waits.
  static let lifetime: Int64 = 360
  /// The most requests of all browsers together. Each has a row. Once all places are taken, a network that has fewer than
  /// another one gets the place of that one's oldest request: a stranger with many addresses takes no place from a network
  /// that has fewer.
  static let greatestCount = 1_000

  let key: Secret
  /// The session of the request; nil if no phone shows it, such as for an unknown administrator. The browser does not
  /// learn this.
  let session: String?
  /// The match code; empty if phones do not ask for one.
  let matchCode: Secret
  let askedAt: UnixTime
  /// The network that the browser asked from: see ``ClientAddress/widerNetwork``.
  var network = ClientAddress.unknown.widerNetwork
}

/// The console's data about one application, from one consistent view.
struct ApplicationOverview: Sendable {
  let application: ApplicationSummary
  /// A page of the credentials, which are sorted by name, usable ones first.
  let credentials: [KnownCredential]
  /// The place of the next page; nil if there is none.
  let credentialsFurther: Int64?
  let users: [UserSummary]
  /// The list or search continues after this user; nil if there are no more.
  let usersFurther: Int64?
}

/// The console's data about one user, from one consistent view.
struct UserOverview: Sendable {
  let application: ApplicationSummary
  let user: UserSummary
  let sessions: [SessionSummary]
  let blocks: RequestBlocks
}

extension ConsoleStore {
  func application(_ id: String, usersAfter user: Int64, matching text: String = "") async throws
    -> ApplicationOverview?
  {
    try await application(id, usersAfter: user, matching: text, credentialsAt: 0)
  }

  /// The computers of a page.
  func computers(_ search: ComputerSearch, at now: UnixTime) async throws -> [ComputerSummary] {
    try await computerPage(search, at: now).computers
  }

  /// The newest live sessions.
  func liveSessions() async throws -> [SessionSummary] { try await liveSessions(matching: SessionFilter()).sessions }
}
