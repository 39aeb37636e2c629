import IAMPASSProtocol

/// The administrator's pages: forms and links, no script.
struct Console: Sendable {
  /// The prefix makes browsers accept the cookie only from this host, only over TLS, and for every path (RFC 6265bis
  /// §4.1.3).
  static let cookie = "__Host-iampass-console"

  let core: ServiceCore
  let management: ManagementReplies
  let sessions: SessionReplies
  /// The service's address for phones and computers; nil: the browser's own request names it.
  let publicURL: ServerURL?
  /// When the shown certificate expires; nil if that is not known.
  let certificateEnd: @Sendable () -> UnixTime?
  let joinCodes: JoinCodeMaker
  let call: Call
  let now: UnixTime

  var storage: any ServiceStorage { core.storage }
  /// Converts stored service time for display.
  func dated(_ time: UnixTime?) -> UnixTime? { time.map(storage.clock.unixTime) }
  /// The service's address for phones and computers. The console may have a listener and an address of its own.
  var publicAddress: ServerURL { publicURL ?? call.address.url }
  /// The address of the pages, as the browser sees it.
  var base: String { call.address.url.basePath + "/console" }

  /// A browser that has signed in.
  struct Visitor: Sendable {
    let key: Secret
    let formToken: Secret
    /// The administrator; nil for a one-time link, which has all rights.
    let administrator: ConsoleVisit.SignedIn?
    let role: AdministratorRole

    /// The name in the audit.
    var name: String { administrator?.name ?? ConsoleAccess.linkName }

    var actor: AuditActor { .console(visit: key, role: role) }

    /// The same visitor with the right to read only.
    var reading: Visitor {
      Visitor(key: key, formToken: formToken, administrator: administrator, role: .auditor)
    }

    /// Whether the visitor may send the form.
    func may(_ path: String) -> Bool { ConsoleRule.find(posting: path)?.least.map { role >= $0 } ?? false }
  }

  func reply(to path: [String]) async throws -> ServiceReply {
    // It is often typed as /console/.
    let path = path == [""] ? [] : path
    guard let route = ConsoleRoute(path) else { return refusal(.notFound) }
    guard route.methods.contains(call.request.method) else {
      return refusal(.methodNotAllowed).adding("Allow", route.methods.sorted().joined(separator: ", "))
    }
    guard let rule = ConsoleRule.find(call.request.method, path) else { return refusal(.notFound) }
    guard let least = rule.least else {
      return try await AuditActor.$current.withValue(.browser) { try await open(route) }
    }
    guard let visitor = try await visitor() else { return refusal(.notSignedIn) }
    return try await AuditActor.$current.withValue(visitor.actor) { try await reply(to: route, least, visitor) }
  }

  private func reply(
    to route: ConsoleRoute, _ least: AdministratorRole, _ visitor: Visitor
  ) async throws -> ServiceReply {
    guard visitor.role >= least else { return refusal(.roleTooLow) }
    guard call.request.method == "POST" else { return try await page(route, visitor) }
    guard isFromHere else { return refusal(.wrongOrigin, as: 403) }
    guard let token = field("token"), Secret(token) == visitor.formToken else { return refusal(.badFormToken) }
    if let refused = try await refusal(ofOwn: route, visitor) { return refused }
    let deed = ConsoleAct(
      administrator: visitor.name, approval: visitor.administrator?.session, seen: seen(by: route))
    do {
      return try await ConsoleAct.$current.withValue(deed) { try await act(route, visitor) }
    } catch is ChangedMeanwhile {
      return refusal(.changedMeanwhile)
    }
  }

  /// The pages that need no sign-in.
  private func open(_ route: ConsoleRoute) async throws -> ServiceReply {
    let isPost = call.request.method == "POST"
    guard !isPost || isFromHere else { return refusal(.wrongOrigin, as: 403) }
    switch route {
    case .style: return Self.style
    case .script: return Self.script
    case .enter(let code?): return try await core.forUnauthenticated(call) { try await landing(Secret(code)) }
    case .enter(nil): return try await core.forUnauthenticated(call) { try await enter() }
    case .signIn:
      if isPost, let wait = await waitForSignIn() { return .tooManyFailures(wait) }
      return try await core.forUnauthenticated(call) { isPost ? try await startSignIn() : try await signInProgress() }
    default: return refusal(.notFound)
    }
  }

  /// Refuses changes of the administrators' own application: a helpdesk that registers an administrator's phone could
  /// become that administrator, and its secret must not leave the service.
  private func refusal(ofOwn route: ConsoleRoute, _ visitor: Visitor) async throws -> ServiceReply? {
    let application: String?
    switch route {
    case .applicationAct(let id, _), .credentialAct(let id, _, _), .userAct(let id, _, _): application = id
    case .endSession(let id): application = try await storage.session(id)?.application
    default: application = nil
    }
    guard let application, try await storage.administratorsApplication() == application else { return nil }
    switch route {
    case .applicationAct(_, .secret), .applicationAct(_, .credentials), .applicationAct(_, .users):
      return refusal(.ownApplication)
    default: return visitor.role < .admin ? refusal(.roleTooLow) : nil
    }
  }

  /// The state that the form's page showed; nil if it cannot have changed.
  private func seen(by route: ConsoleRoute) -> SeenState? {
    let subject: ConsoleSubject
    switch route {
    case .applicationAct(let id, let act):
      guard act != .credentials, act != .users, act != .sign else { return nil }
      subject = .application(id)
    case .credentialAct(_, let id, _): subject = .credential(id)
    case .userAct(_, let user, _): subject = .phone(user: user)
    case .administratorAct(let name, _): subject = .administrator(name)
    default: return nil
    }
    return field("seen").map { SeenState(subject: subject, state: $0) }
  }

  /// Whether one of our own pages sent the form. The browser itself says so, and a page cannot change that.
  private var isFromHere: Bool {
    let origins = call.request.values(of: ["Origin"])
    let sites = call.request.values(of: ["Sec-Fetch-Site"])
    return origins.allSatisfy { $0 == call.address.url.origin } && sites.allSatisfy { $0 == "same-origin" }
      && !(origins.isEmpty && sites.isEmpty)
  }

  private func visitor() async throws -> Visitor? {
    guard let key = cookie(Self.cookie), RandomValue.isIdentifier(key.exposedValue) else { return nil }
    let found = try await core.forUnauthenticated(call) { try await storage.consoleVisit(key, at: now) }
    guard let visit = found else { return nil }
    if visit.isUseOld { try await storage.markUsed(consoleVisit: key, at: now) }
    call.request.onProof()
    return Visitor(
      key: key, formToken: visit.formToken, administrator: visit.administrator,
      role: visit.administrator?.role ?? .admin)
  }

  func cookie(_ name: String) -> Secret? {
    // Compares bytes, as browsers do: Swift's Character treats a Greek question mark as a semicolon.
    let pairs = call.request.values(of: ["Cookie"]).flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }
    let values = pairs.compactMap { pair -> Secret? in
      let sides = Substring(pair).trimming(" \t").split(separator: "=", maxSplits: 1)
      return sides.count == 2 && sides[0] == name ? Secret(String(sides[1])) : nil
    }
    return values.count == 1 ? values[0] : nil
  }

  /// A field of the form; nil if the form does not have it exactly once.
  func field(_ name: String) -> String? { form?.value(name) }

  private var form: RequestTarget? {
    guard let text = String(validating: call.request.body, as: UTF8.self) else { return nil }
    return RequestTarget(Substring("/?" + text))
  }

  // MARK: Signing in

  /// The page of a one-time link. Opening it changes nothing, because mail programs and chats open links too.
  private func landing(_ code: Secret) async throws -> ServiceReply {
    guard try await isUsable(code) else { return refusal(.unknownLink) }
    let content: HTML = """
      <p>This link opens the console in this browser, once.</p>
      <form method="post" action="\(base)/enter">
      <input type="hidden" name="code" value="\(code.exposedValue)">
      <button>Sign in</button>
      </form>
      """
    return show("Sign in", content, visitor: nil)
  }

  /// Whether a link with this code can be used; false for a malformed code.
  private func isUsable(_ code: Secret) async throws -> Bool {
    guard RandomValue.isIdentifier(code.exposedValue) else { return false }
    return try await storage.isUsable(consoleLink: code, at: now)
  }

  private func enter() async throws -> ServiceReply {
    guard let code = field("code").map({ Secret($0) }) else { return refusal(.badRequest) }
    // A read is enough to check, so that a guessed code does not cost a write.
    guard try await isUsable(code) else { return refusal(.unknownLink) }
    let key = Secret(try RandomValue.identifier())
    let isIn = try await AuditActor.$current.withValue(.console(visit: key, role: .admin)) {
      try await storage.enterConsole(by: code, key: key, from: call.client, at: now)
    }
    guard isIn else { return refusal(.unknownLink) }
    core.logger.notice("a browser signed in to the console", metadata: ["address": "\(call.client.text)"])
    return admitted(key)
  }

  /// - Parameter key: the visit's key.
  func admitted(_ key: Secret) -> ServiceReply {
    let attributes = "Path=/; Max-Age=\(ConsoleAccess.visitLifetime); Secure; HttpOnly; SameSite=Strict"
    return redirect("").adding("Set-Cookie", "\(Self.cookie)=\(key.exposedValue); \(attributes)")
  }

  func leave(_ visitor: Visitor) async throws -> ServiceReply {
    try await storage.leaveConsole(visitor.key, at: now)
    if let administrator = visitor.administrator { _ = try await sessions.logOut(administrator.session) }
    let gone = "\(Self.cookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict"
    return show("Signed out", "<p>This browser is signed out of the console.</p>", visitor: nil)
      .adding("Set-Cookie", gone)
  }
}
