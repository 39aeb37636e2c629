import DeviceProtocol
import IAMPASSProtocol

// The sign-in of a browser by an administrator's phone.

extension Console {
  static let requestCookie = "__Host-iampass-console-ask"
  /// The time until the waiting page is loaded again, in seconds.
  private static let refreshInterval = 3

  /// The service's name on the phone.
  private var shownService: String { "console of \(call.address.url.hostName ?? call.address.url.origin)" }

  /// The page for a browser that is not signed in.
  func signInPage(status: Int, reason: Reason?, problem: String? = nil) -> ServiceReply {
    let content: HTML = """
      <section aria-labelledby="title">
      <form method="post" action="\(base)/sign-in">
      <label>Your name as an administrator
      <input type="text" name="name" required maxlength="100" autocomplete="username" spellcheck="false"></label>
      <button>Ask my phone</button>
      </form>
      </section>
      <details>
      <summary>Without a phone</summary>
      <p>A link into the console works once, for ten minutes. To get a new link, run this as root on the service's
      computer. A service that is not the packaged one also needs <code>--data DIR</code> or
      <code>--database URL</code>.</p>
      <pre>iampass-server console-link</pre>
      </details>
      """
    return show("Sign in", content, visitor: nil, status: status, problem: problem, reason: reason)
  }

  /// Counts a sign-in that one of our own pages begins. Forms of other sites must not count: any page that somebody opens
  /// could keep the administrators of their address out.
  ///
  /// - Returns: how long a browser that begins too many must wait, in seconds; nil if it need not.
  func waitForSignIn() async -> Int64? {
    await core.failures.note(.consoleSignIn, from: call.client.text, with: storage.limits, at: now)
  }

  /// Asks the phone. The reply is the same whether or not an administrator has the name, and a phone.
  func startSignIn() async throws -> ServiceReply {
    guard let name = field("name") else { return refusal(.badRequest) }
    let key = Secret(try RandomValue.identifier())
    // The browser's place comes first: whoever finds none rings nobody, and keeps the request that they have.
    let place = ConsoleSignInRequest(
      key: key, session: nil, matchCode: Secret(""), askedAt: now, network: call.client.widerNetwork)
    guard try await storage.keep(place, at: now) else { return .refused(.tooManyRequests) }
    try await withdraw()
    let session = try await started(String(name[...].trimming(" \t")))
    let isAsked: Bool
    do { isAsked = try await ask(session, by: key) } catch {
      await end(session)
      throw error
    }
    guard isAsked else {
      await end(session)
      return .refused(.tooManyRequests)
    }
    let attributes = "Path=/; Max-Age=\(ConsoleSignInRequest.lifetime); Secure; HttpOnly; SameSite=Strict"
    return redirect("/sign-in").adding("Set-Cookie", "\(Self.requestCookie)=\(key.exposedValue); \(attributes)")
  }

  /// Asks the phone, once the browser's place names the request: it would ring for nothing before.
  ///
  /// - Parameter session: nil if no phone is to be asked. The browser does not learn this.
  /// - Returns: false if the place is another browser's by now.
  private func ask(_ session: Session?, by key: Secret) async throws -> Bool {
    let ask = ConsoleSignInRequest(
      key: key, session: session?.id, matchCode: try await shownCode(of: session), askedAt: now,
      network: call.client.widerNetwork)
    guard try await storage.keep(ask, at: now) else { return false }
    if let session { sessions.announce(session, contact: publicAddress.origin) }
    return true
  }

  /// The match code; one that no phone takes if no phone is asked. Empty if phones do not ask for one.
  private func shownCode(of session: Session?) async throws -> Secret {
    if let session { return session.matchCode ?? Secret("") }
    let digits = String(try RandomValue.number(below: 100))
    return try await ownSettings().matchCodes == .off ? Secret("") : Secret(digits.count < 2 ? "0" + digits : digits)
  }

  /// Ends a request that no browser waits for.
  private func end(_ session: Session?) async {
    guard let session else { return }
    // It expires by itself if this fails.
    _ = try? await sessions.logOut(session.id)
  }

  /// Withdraws this browser's earlier request, which would block the new one.
  private func withdraw() async throws {
    guard let former = try await browsersRequest()?.session,
      let session = try await storage.session(former), session.lifecycle.isUnanswered
    else { return }
    _ = try await sessions.logOut(former)
  }

  /// This browser's request; nil if there is none, or if it is too old.
  private func browsersRequest() async throws -> ConsoleSignInRequest? {
    guard let key = cookie(Self.requestCookie), RandomValue.isIdentifier(key.exposedValue) else { return nil }
    return try await storage.consoleRequest(key, at: now)
  }

  /// - Returns: nil if there is no phone to ask. The phone does not ring yet.
  private func started(_ name: String) async throws -> Session? {
    guard AdministratorRule.isFit(name), let own = try await storage.administratorsApplication(),
      let application = try await storage.application(own),
      try await storage.administrators().contains(where: { $0.name == name })
    else { return nil }
    let context = SignInContext(service: shownService, user: name, remoteHost: call.client.text)
    guard context.isWithinBounds else { return nil }
    let ask = SessionStartRequest(
      user: name, signInClient: SignInClient(application: application, credential: nil), client: call.client,
      methods: AuthenticationMethod.allCases, duration: ConsoleAccess.visitLifetime, context: context, hasContext: true,
      challenge: nil, matchCode: nil, boot: nil)
    let start = try await storage.start(ask, at: now) { [now, call] record in
      // The browser would not get the cookie by which it withdraws this one, and its next one would ring nobody.
      if call.request.hasLeft() { throw CancellationError() }
      return StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
    }
    core.announceEnd(of: start.ended)
    guard case .started(let session, _) = start.outcome else { return nil }
    return session
  }

  private func ownSettings() async throws -> ApplicationSettings {
    guard let own = try await storage.administratorsApplication() else { return ApplicationSettings() }
    return try await storage.settings(of: own)
  }

  /// The request's state. If a phone has approved it, its administrator is signed in.
  func signInProgress() async throws -> ServiceReply {
    guard let ask = try await browsersRequest() else {
      return signInPage(status: 401, reason: nil)
    }
    guard let id = ask.session else {
      let answerTime = try await ownSettings().answerTime
      return now < ask.askedAt.advanced(seconds: answerTime) ? waiting(ask) : notSignedIn(.notAnswered)
    }
    guard let session = try await sessions.settled(id, at: now)?.session else { return notSignedIn(nil) }
    if session.lifecycle.isUnanswered { return waiting(ask) }
    guard session.lifecycle.status == .active else { return notSignedIn(session.lifecycle.ending) }
    let visit = Secret(try RandomValue.identifier())
    let role = try await storage.administrators().first { $0.user == session.user }?.role
    let entered = try await AuditActor.$current.withValue(.console(visit: visit, role: role)) {
      try await storage.enterConsole(asked: ask.key, key: visit, from: call.client, at: now)
    }
    guard let entered else { return notSignedIn(nil) }
    core.announceChange(of: entered)
    core.logger.notice(
      "an administrator signed in to the console",
      metadata: [
        "administrator": "\(entered.context.user ?? "")", "session": "\(id)", "address": "\(call.client.text)",
      ])
    return admitted(visit).adding(
      "Set-Cookie", "\(Self.requestCookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict")
  }

  private func waiting(_ ask: ConsoleSignInRequest) -> ServiceReply {
    let code: HTML =
      ask.matchCode.exposedValue.isEmpty
      ? .nothing
      : "<p>Type these digits on the phone: <strong class=\"digits\">\(ask.matchCode.exposedValue)</strong></p>"
    let content: HTML = """
      <section aria-labelledby="title">
      <p>If this is the name of an administrator with a phone, the phone shows “\(shownService)” now.</p>
      \(code)
      <p class="soft">This page looks again every \(Self.refreshInterval) seconds.
      <a href="\(base)/sign-in">Look now</a>, or <a href="\(base)">start again</a>.</p>
      </section>
      """
    return show("Approve on your phone", content, visitor: nil).adding("Refresh", "\(Self.refreshInterval)")
  }

  private func notSignedIn(_ ending: SessionLifecycle.Ending?) -> ServiceReply {
    let problem =
      switch ending {
      case .denied, .notMe: "The phone denied the request."
      case .wrongCode: "The phone approved with other digits than these: nobody was signed in."
      case .notAnswered, .notCollected: "The phone did not answer in time."
      default: "The request has ended."
      }
    return signInPage(status: 403, reason: nil, problem: problem)
  }
}
