import IAMPASSProtocol
import Logging

/// The service without sockets: it turns a request into a reply.
public struct SignInService: Sendable {
  /// The folder of the programs that may send registration links. The console chooses one of them.
  public static let usualPrograms = "/etc/iampass-server/programs"
  /// The longest time that a status is held, in seconds.
  public static let usualWait: Int64 = HeldReply.usualWait

  let core: ServiceCore
  private let router: Router
  let lastCheck = PresenceBySilence.LastCheck()
  /// When the shown certificate expires; nil if that is not known.
  let certificateEnd: @Sendable () -> UnixTime?

  /// - Parameters:
  ///   - publicURL: the service's address for clients; nil: each request's own authority counts.
  ///   - longestWait: the longest time that a status is held, in seconds; 0: never.
  ///   - pushTrust: the push services that may be used.
  ///   - pushContact: the contact for the push services' operators; nil: the service's own address.
  ///   - proxies: the proxies that are trusted to give a request's address.
  ///   - programs: the folder of the programs that may send registration links.
  ///   - certificateEnd: gives when the shown certificate expires.
  ///   - joinCodes: makes the codes by which computers join.
  public init(
    storage: SQLiteStorage, publicURL: ServerURL?, longestWait: Int64 = usualWait, pushTrust: PushTrust = PushTrust(),
    pushContact: PushContact? = nil, proxies: TrustedProxies = .init(), programs: String = SignInService.usualPrograms,
    logger: Logger,
    certificateEnd: @escaping @Sendable () -> UnixTime? = { nil }, joinCodes: JoinCodeMaker = .none
  ) {
    self.init(
      on: storage, publicURL: publicURL, longestWait: longestWait, pushTrust: pushTrust, pushContact: pushContact,
      proxies: proxies,
      programs: programs, logger: logger, certificateEnd: certificateEnd, joinCodes: joinCodes)
  }

  /// The same in a PostgreSQL database, which several servers of one service may share.
  public init(
    storage: PostgreSQLStorage, publicURL: ServerURL?, longestWait: Int64 = usualWait,
    pushTrust: PushTrust = PushTrust(), pushContact: PushContact? = nil, proxies: TrustedProxies = .init(),
    programs: String = SignInService.usualPrograms, logger: Logger,
    certificateEnd: @escaping @Sendable () -> UnixTime? = { nil }, joinCodes: JoinCodeMaker = .none
  ) {
    self.init(
      on: storage, publicURL: publicURL, longestWait: longestWait, pushTrust: pushTrust, pushContact: pushContact,
      proxies: proxies,
      programs: programs, logger: logger, certificateEnd: certificateEnd, joinCodes: joinCodes)
  }

  /// The same on the storage of any engine.
  init(
    on storage: any ServiceStorage, publicURL: ServerURL?, longestWait: Int64 = usualWait,
    pushTrust: PushTrust = PushTrust(), pushContact: PushContact? = nil, proxies: TrustedProxies = .init(),
    programs: String = SignInService.usualPrograms, unauthenticated: UnauthenticatedRequestLimit = .init(),
    logger: Logger, certificateEnd: @escaping @Sendable () -> UnixTime? = { nil }, joinCodes: JoinCodeMaker = .none
  ) {
    core = ServiceCore(storage: storage, unauthenticated: unauthenticated, logger: logger)
    let pushes = PushSender(
      storage: storage, trust: pushTrust, contact: pushContact, counts: core.metrics.pushes, logger: logger)
    let sessions = SessionReplies(core: core, longestWait: longestWait, pushes: pushes)
    router = Router(
      core: core, publicURL: publicURL, proxies: proxies,
      management: ManagementReplies(core: core, programs: programs), sessions: sessions,
      devices: DeviceReplies(core: core, sessions: sessions, pushTrust: pushTrust), certificateEnd: certificateEnd,
      joinCodes: joinCodes)
    self.certificateEnd = certificateEnd
  }

  var board: ChangeBoard { core.board }

  /// The service's address for clients; nil: each request's own authority counts.
  var publicURL: ServerURL? { router.publicURL }

  /// Documents that commands and other servers have ordered.
  var documents: DocumentRequests {
    DocumentRequests(core: core, sessions: router.sessions, contact: publicURL?.origin ?? "https://localhost")
  }

  /// From now on `/readyz` tells proxies to use other servers. Requests that still come are answered as usual.
  public func announceStop() { core.board.announceStop() }

  /// Answers all held requests at once, and also those to come.
  public func stopHolding() { core.board.stop() }

  /// Answers held requests for which the storage has no answer since ``stopHolding()``: their clients ask again.
  func giveUpHolding() { core.board.giveUp() }

  /// The reply to a request, with its id. Failures of the storage are replies too.
  public func respond(to request: ServiceRequest) async -> ServiceReply {
    let id = router.proxies.requestID(of: request) ?? RequestID.made()
    return await RequestID.$current.withValue(id) {
      let reply = await reply(to: request)
      core.logger.debug("replied", metadata: ["method": "\(request.method)", "status": "\(reply.status)"])
      return reply.adding(RequestID.header, id)
    }
  }

  private func reply(to request: ServiceRequest) async -> ServiceReply {
    var reply = request.mayWait ? await apart { await router.respond(to: request) } : await router.respond(to: request)
    if let held = reply.held { reply = await held.reply() }
    core.metrics.count(reply)
    return reply
  }

  /// Why browsers will not open the phone's page; nil if the service knows no reason.
  ///
  /// - Parameter certificate: the file of the certificate that browsers get; nil if a proxy has its own.
  public func pageProblem(certificate: String?) -> String? {
    guard let publicURL else { return "no --public-url is given, so links may lead to a number" }
    guard let name = publicURL.hostName else { return "\(publicURL) has no DNS name" }
    return certificate.flatMap { PageCertificate.problem(of: $0, for: name) }
  }
}
