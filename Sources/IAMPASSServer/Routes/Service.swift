import IAMPASSProtocol
import Logging

/// The service without sockets: a request in, a reply out.
public struct Service: Sendable {
  /// Where the programs are that may send registration links, among which the console chooses.
  public static let usualPrograms = "/etc/iampass-server/programs"
  /// How long a status is held at most, in seconds: shorter than the time after which middle boxes forget an idle
  /// connection.
  public static let usualWait: Int64 = 60

  let storage: Storage
  let board = ChangeBoard()
  let publicURL: ServerURL?
  let longestWait: Int64
  let proxies: TrustedProxies
  let programs: String
  let failures = FailureLimits()
  let metrics = Metrics()
  let lastLook = PresenceBySilence.LastLook()
  /// When the certificate that is shown ends; nil where nobody knows.
  let certificateEnd: @Sendable () -> UnixTime?
  /// Service time, the storage's.
  let clock: @Sendable () -> UnixTime
  let audit: Audit
  let logger: Logger
  let pushes: PushSender

  /// - Parameters:
  ///   - publicURL: as clients know the service; without it each request's own authority counts.
  ///   - longestWait: how long a status is held for its client at most, in seconds; 0: never.
  ///   - pushTrust: which push services ring phones.
  ///   - proxies: whose word counts for where a request comes from.
  ///   - programs: the folder of the programs that may send registration links.
  ///   - certificateEnd: when the certificate that is shown ends.
  public init(
    storage: Storage, publicURL: ServerURL?, longestWait: Int64 = usualWait, pushTrust: PushTrust = PushTrust(),
    proxies: TrustedProxies = .init(), programs: String = Service.usualPrograms, logger: Logger,
    certificateEnd: @escaping @Sendable () -> UnixTime? = { nil }
  ) {
    self.storage = storage
    self.publicURL = publicURL
    self.longestWait = longestWait
    self.proxies = proxies
    self.programs = programs
    self.certificateEnd = certificateEnd
    clock = { storage.now() }
    self.logger = logger
    audit = Audit(logger: logger, metrics: metrics)
    pushes = PushSender(storage: storage, trust: pushTrust, logger: logger)
  }

  /// Answers every held request, and those to come at once.
  public func stopHolding() { board.stop() }

  /// The reply to a request. Failures of the storage are replies too.
  public func respond(to request: ServiceRequest) async -> ServiceReply {
    let reply = await uncounted(request)
    metrics.count(reply)
    return reply
  }

  private func uncounted(_ request: ServiceRequest) async -> ServiceReply {
    guard let address = PublicAddress(configured: publicURL, authority: request.authority),
      let target = Target(address.routed(request.target))
    else { return .refused(400, .badRequest) }
    guard let route = Route(path: target.path) else { return .refused(404, .notFound) }
    guard request.method == route.method || route.isConsole else {
      return .refused(405, .methodNotAllowed).adding("Allow", route.method)
    }
    let call = Call(request: request, address: address, target: target, client: proxies.client(of: request))
    if let refusal = call.refusal(of: route) { return refusal }
    return await limitingFailures(of: route, call) {
      await replyingWhenStorageFails { try await reply(to: route, call) }
    }
  }

  /// Whoever fails too often is told to wait. What is right is done all the same.
  private func limitingFailures(
    of route: Route, _ call: Call, _ work: () async -> ServiceReply
  ) async -> ServiceReply {
    guard let kind = FailureLimits.Kind(route, call.request) else { return await work() }
    let source = call.client.text
    let reply = await work()
    guard let reason = reply.reason, kind.isFailure(reason) else { return reply }
    let wait = failures.wait(for: kind, from: source, at: clock())
    failures.count(kind, from: source, at: clock())
    return wait.map(ServiceReply.tooManyFailures) ?? reply
  }

  private func reply(to route: Route, _ call: Call) async throws -> ServiceReply {
    switch route {
    case .announcement: Service.announcement
    case .health: try await health()
    case .console(let path): try await Console(service: self, call: call, now: clock()).reply(to: path)
    case .addUsers(let id): try await signed(application: id, call) { try await addUsers(to: $0, call) }
    case .deleteUsers(let id): try await signed(application: id, call) { try await deleteUsers(of: $0, call) }
    case .registrationLink(let id, let user):
      try await signed(application: id, call) { try await makeLink(for: user, of: $0, call, $1) }
    case .hasDevice(let id, let user):
      try await signed(application: id, call) { try await hasDevice(user, of: $0) }
    case .lostDevice(let id, let user):
      try await signed(application: id, call) { try await loseDevice(of: user, of: $0, call, $1) }
    case .registrationMessage(let id, let user):
      try await signed(application: id, call) { try await sendMessage(to: user, of: $0, call) }
    case .authenticate(let id, let user):
      try await signed(starter: id, call) { starter, _ in try await startSession(for: user, by: starter, call) }
    // Where the service stands in its history is in every signed reply.
    case .serviceMark(let id): try await signed(starter: id, call) { _, _ in .done }
    case .sessionStatus(let id): try await signed(session: id, call) { try await status(of: $0, call) }
    case .sessionLogout(let id): try await signed(session: id, call) { try await logOut($0) }
    case .showLink(let code): try await openLink(code, call)
    case .registerDevice: try await registerDevice(call)
    case .deviceRequests: try await listRequests(call)
    case .deviceAnswer: try await takeAnswer(call)
    case .devicePresence: try await changePresence(call)
    case .deviceStatus: try await deviceStatus(call)
    case .deviceCredential: try await addCredential(call)
    case .deviceEnd: try await endSessions(call)
    case .deviceUnregister: try await unregister(call)
    case .deviceEvents: try await streamEvents(call)
    case .pushKey: try await pushKey()
    case .devicePush: try await subscribe(call)
    case .door: leadToPage(call)
    case .phoneFile(let name): phoneFile(name, call)
    }
  }

  private static let announcement = ServiceReply(
    200,
    ServiceAnnouncement(
      signedReplies: true, context: true, preferWait: true, matchCode: true, hostCredentials: true,
      sessionNames: true, signedTargets: true, bodyDigests: true, sealedLinks: true
    ).encoded())

  /// A reply for an application's own request, signed; its hosts may not manage users and phones.
  private func signed(
    application id: String, _ call: Call, _ work: @Sendable (Application) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    try await signed(application: id, call) { application, _ in try await work(application) }
  }

  /// The same, for work that needs to know who asked.
  private func signed(
    application id: String, _ call: Call,
    _ work: @Sendable (Application, VerifiedClient) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    try await signed(starter: id, call) { starter, client in
      guard starter.credential == nil else { return .refused(403, .hostMayNotManage) }
      let settings = try await storage.read { try ApplicationSettings.of(starter.application.id, in: $0) }
      guard !settings.isDisabled else { return .refused(403, .applicationDisabled) }
      return try await work(starter.application, client)
    }
  }

  /// A reply for a request of an application or one of its hosts, signed; refused where the signature is not its own.
  private func signed(
    starter id: String, _ call: Call, _ work: @Sendable (Starter, VerifiedClient) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    guard let starter = try await storage.read({ try Starter.find(id, in: $0) }) else {
      return .refused(404, .unknownApplication)
    }
    switch try await check.starter(starter, signed: call.request, uris: call.signedURIs) {
    case .refused(let reason): return .refused(401, reason)
    case .verified(let client):
      return await replyingWhenStorageFails { try await marked(work(starter, client)) }.signed(for: client)
    }
  }

  /// A reply for a request that a session signed.
  private func signed(
    session id: String, _ call: Call, _ work: @Sendable (Session) async throws -> ServiceReply
  ) async throws -> ServiceReply {
    guard let session = try await storage.read({ try Session.find(id: id, in: $0) }) else {
      return .refused(404, .unknownSession)
    }
    switch try await check.session(session, signed: call.request, uris: call.signedURIs) {
    case .refused(let reason): return .refused(401, reason)
    case .verified(let client):
      return await replyingWhenStorageFails { try await marked(work(session)) }.signed(for: client)
    }
  }

  /// The reply, with where the service stands in its history now that the reply's work is done.
  private func marked(_ reply: ServiceReply) async throws -> ServiceReply {
    reply.marked(try await storage.read(HistoryMark.current))
  }

  private var check: SignatureCheck { SignatureCheck(storage: storage) }

  /// A full disk or a locked database is for the client to try again, and for the log to tell.
  private func replyingWhenStorageFails(_ work: () async throws -> ServiceReply) async -> ServiceReply {
    do {
      let reply = try await work()
      tellWhenStorageWorksAgain()
      return reply
    } catch {
      tell(storageFailure: error)
      return .refused(503, .storageUnavailable).adding("Retry-After", "2")
    }
  }
}

/// A request with what was read from it.
struct Call: Sendable {
  let request: ServiceRequest
  let address: PublicAddress
  let target: Target
  /// Who sent it, as far as limits and the audit go.
  let client: ClientAddress

  var signedURIs: [String] { address.signedURIs(request.target) }

  /// For what a right signature cannot be about, or not wholly.
  fileprivate func refusal(of route: Route) -> ServiceReply? {
    if route.failureGroup == .signed, RequestSigner.isAmbiguous(target: request.target.utf8[...]) {
      return .refused(400, .badRequest)
    }
    // Other makes of clients send none; whoever carries the request cannot take it off, since the signature covers it.
    guard !target.has(BodyDigest.name) || target.value(BodyDigest.name) == BodyDigest.value(of: request.body) else {
      return .refused(400, .wrongBody)
    }
    return nil
  }
}

extension ServiceReply {
  fileprivate static func tooManyFailures(_ seconds: Int64) -> ServiceReply {
    refused(429, .tooManyFailures).adding("Retry-After", String(seconds))
  }

  /// With this service's own signatures, for who verified.
  fileprivate func signed(for client: VerifiedClient) -> ServiceReply {
    adding(
      ReplySignature.header,
      ReplySignature.signature(secret: client.replySecret, nonce: client.nonce, status: status, body: body)
    ).adding(
      ReplySignature.targetHeader,
      ReplySignature.targetSignature(
        secret: client.replySecret, nonce: client.nonce, method: client.method, address: client.address,
        status: status, body: body))
  }
}
