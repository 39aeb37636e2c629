import IAMPASSProtocol

/// What the administrators' console shows and changes.
protocol ConsoleStore: AdministratorStore {
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

  /// Keeps what a browser asked, so that it can enter once the phone has approved.
  ///
  /// - Returns: false if too many browsers ask.
  func keep(_ ask: ConsoleAsk, at now: UnixTime) async throws -> Bool

  /// What a browser asked; nil if it asked nothing, or too long ago.
  func consoleAsk(_ key: Secret, at now: UnixTime) async throws -> ConsoleAsk?

  /// Uses the ask up and begins a browser's visit, if an administrator's phone has approved it.
  ///
  /// - Parameter key: the new visit's.
  /// - Returns: the session that was approved; nil if it is not active, or its user is not an administrator.
  func enterConsole(
    asked ask: Secret, key: Secret, from client: ClientAddress, at now: UnixTime
  ) async throws -> Session?

  /// A browser's visit; nil if there is none or its time is over.
  func consoleVisit(_ key: Secret, at now: UnixTime) async throws -> ConsoleVisit?

  /// Notes that the browser is still used. A power cut may undo this.
  func markUsed(consoleVisit key: Secret, at now: UnixTime) async throws

  func leaveConsole(_ key: Secret) async throws

  /// A mark of what two administrators may change at once. A page reads it before what it shows.
  func state(of subject: ConsoleSubject) async throws -> String

  // MARK: What it shows

  /// All applications, by their names.
  func applications() async throws -> [ApplicationSummary]

  /// An application with its credentials and a page of its users; nil if there is none.
  ///
  /// - Parameters:
  ///   - user: the page begins after this one.
  ///   - text: part of a user's name, of what the phone shows, or of a group; empty: all.
  func application(_ id: String, usersAfter user: Int64, matching text: String) async throws -> ApplicationOverview?

  /// A user of an application; nil if there is none.
  func user(_ id: Int64, of application: String) async throws -> UserOverview?

  /// Takes requests of a user again that denials and reports kept from the phone. The audit says so, unless there was
  /// nothing to lift.
  ///
  /// - Returns: what was lifted; nil for an unknown user.
  func liftBlocks(of user: Int64, of application: String, at now: UnixTime) async throws -> RequestBlocks?

  /// The newest live sessions, ``SessionSummary/greatestCount`` of them at most.
  func liveSessions(matching filter: SessionFilter) async throws -> [SessionSummary]

  /// The newest entries of the audit first, out of ``AuditFilter/reach`` entries at most.
  ///
  /// - Parameter id: only entries before this one; nil: all.
  func auditEntries(matching filter: AuditFilter, before id: Int64?, limit: Int) async throws -> AuditPage

  /// Sign-ins since `time`, which is the wall clock's, by day and result.
  func signInCounts(since time: UnixTime) async throws -> [SignInCount]

  /// Usable credentials of computers by their names, ``ComputerSearch/pageLength`` of them at most.
  func computers(_ search: ComputerSearch, at now: UnixTime) async throws -> [ComputerSummary]

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
  /// Nil: it came by a one-time link.
  let administrator: SignedIn?

  struct SignedIn: Sendable {
    let name: String
    let role: AdministratorRole
    /// The session that the phone approved.
    let session: String
  }
}

/// A browser that waits for an administrator's phone.
struct ConsoleAsk: Sendable {
  /// Seconds: longer than a request waits.
  static let lifetime: Int64 = 360
  /// For all browsers together: each has a row.
  static let greatestCount = 1_000

  let key: Secret
  /// Nil if no phone shows the request: for a name that no administrator has, say. The browser is not told.
  let session: String?
  /// Empty: phones ask for none.
  let matchCode: Secret
  let askedAt: UnixTime
}

/// What the console shows of one application, in one consistent view.
struct ApplicationOverview: Sendable {
  let application: ApplicationSummary
  /// The usable ones first, each by its name.
  let credentials: [HostCredential]
  let users: [UserSummary]
  /// The list, or the search, goes on after this user; nil if there are no more.
  let usersFurther: Int64?
}

/// What the console shows of one user, in one consistent view.
struct UserOverview: Sendable {
  let application: ApplicationSummary
  let user: UserSummary
  let sessions: [SessionSummary]
  let blocks: RequestBlocks
}

extension ConsoleStore {
  func application(_ id: String, usersAfter user: Int64) async throws -> ApplicationOverview? {
    try await application(id, usersAfter: user, matching: "")
  }

  func liveSessions() async throws -> [SessionSummary] { try await liveSessions(matching: SessionFilter()) }
}
