import IAMPASSProtocol
import Logging

/// The service without sockets: a request in, a reply out.
public struct SignInService: Sendable {
  /// The folder of the programs that may send registration links. The console chooses one of them.
  public static let usualPrograms = "/etc/iampass-server/programs"
  /// How long a status is held at most, in seconds.
  public static let usualWait: Int64 = HeldReply.usualWait

  let core: ServiceCore
  private let router: Router
  let lastLook = PresenceBySilence.LastLook()
  /// When the certificate that is shown ends; nil if that is not known.
  let certificateEnd: @Sendable () -> UnixTime?

  /// - Parameters:
  ///   - publicURL: as clients know the service; without it each request's own authority counts.
  ///   - longestWait: how long a status is held for its client at most, in seconds; 0: never.
  ///   - pushTrust: which push services ring phones.
  ///   - pushContact: for the push services' operators; nil: the service's own address.
  ///   - proxies: the proxies that are believed about the address a request comes from.
  ///   - programs: the folder of the programs that may send registration links.
  ///   - certificateEnd: when the certificate that is shown ends.
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

  /// The same in a PostgreSQL database, where further servers may run the same service.
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

  /// The same on any engine's storage.
  init(
    on storage: any ServiceStorage, publicURL: ServerURL?, longestWait: Int64 = usualWait,
    pushTrust: PushTrust = PushTrust(), pushContact: PushContact? = nil, proxies: TrustedProxies = .init(),
    programs: String = SignInService.usualPrograms, logger: Logger,
    certificateEnd: @escaping @Sendable () -> UnixTime? = { nil }, joinCodes: JoinCodeMaker = .none
  ) {
    core = ServiceCore(storage: storage, logger: logger)
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

  /// As clients know the service; nil: each request's own authority counts.
  var publicURL: ServerURL? { router.publicURL }

  /// Documents that commands and other servers have ordered.
  var documents: DocumentRequests {
    DocumentRequests(core: core, sessions: router.sessions, contact: publicURL?.origin ?? "https://localhost")
  }

  /// `/readyz` tells proxies from now on to send requests to other servers. Those that come are answered as ever.
  public func announceStop() { core.board.announceStop() }

  /// Answers every held request, and those to come at once.
  public func stopHolding() { core.board.stop() }

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

  /// Why browsers will not open the phone's page; nil if nothing that the service can see is in the way.
  ///
  /// - Parameter certificate: the file of what is shown to browsers; nil if a proxy shows its own.
  public func pageProblem(certificate: String?) -> String? {
    guard let publicURL else { return "no --public-url is given, so links may lead to a number" }
    guard let name = publicURL.hostName else { return "\(publicURL) has no DNS name" }
    return certificate.flatMap { PageCertificate.problem(of: $0, for: name) }
  }
}
