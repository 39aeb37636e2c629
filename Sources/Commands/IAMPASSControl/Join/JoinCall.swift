import CommandSupport
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The conversation of a join.
///
/// A first connection only gets the server's certificates, which are not trusted. The one whose digest is in the
/// administrator's code becomes the only trusted certificate. A second connection is verified with that certificate,
/// name included. The code's secret is sent only over the second connection.
struct JoinCall {
  /// The longest time that the service may hold a request, in seconds.
  private static let greatestHold: Int64 = 20
  /// The longest time of one request, in milliseconds.
  private static let patience: Int64 = 35_000
  /// The time between two attempts while the network or the service is out of reach, in milliseconds.
  private static let pause: Int64 = 2_000

  let server: ServerURL
  let code: JoinCode
  let configuration: Configuration
  let interrupt: Interrupt

  /// The certificate that the code names, from the service.
  func anchor() throws(CommandProblem) -> CertificateBundle {
    guard
      let shown = CertificateReader.shownChain(
        of: server, workerUser: configuration.workerUser, proxy: configuration.proxy)
    else { throw .join(.nothingShown(server.description)) }
    // An authority's certificate comes after the service's own. A self-signed certificate comes alone.
    let candidates = code.anchor == .certificate ? Array(shown.prefix(1)) : shown
    guard let found = candidates.first(where: { Digest.areEqual(Digest.sha256($0), code.digest) }),
      let bundle = CertificateBundle(pem: CertificateChain.pem(found))
    else { throw .join(.otherCertificate(server.description)) }
    return bundle
  }

  /// Asks until the computer has joined.
  ///
  /// - Parameter waiting: the longest wait for an administrator's approval, in milliseconds.
  func run(_ note: JoinNote, by anchor: CertificateBundle, waiting: Int64) throws(CommandProblem) -> JoinedComputer {
    let transport = WorkerTransport(
      settings: WorkerSettings(
        server: server, caCertificates: anchor, proxy: configuration.proxy, worker: configuration.worker,
        workerUser: configuration.workerUser, lifetime: 0), interruption: interrupt)
    let end = MonotonicInstant.now().advanced(milliseconds: waiting)
    let digits = JoinCode.mark(of: note.secret)
    var hasSaid = false
    var busy = BusyService(interrupt, until: end)
    while true {
      let wasSaid = hasSaid
      // The first state is printed at once, so that the user knows what the command waits for.
      let request = self.request(note, hold: hasSaid ? Self.hold(until: end) : nil)
      let reply = try hasSaid ? ask(request, transport, mayWait: true) : firstAnswer(request, transport, &busy)
      switch reply {
      case .joined(let credential, let host, let application, let fleet)?:
        return try JoinedComputer(
          credential: credential, host: host, application: application, fleet: try anchored(fleet), as: note.computer)
      case .waiting?:
        if !hasSaid {
          Terminal.say("waiting until an administrator approves this computer: \(note.computer), digits \(digits)")
          Terminal.say("an administrator's phone asks for the last two digits: \(digits.suffix(2))")
          Terminal.say("(Ctrl-C stops waiting; the same command goes on)")
        }
        hasSaid = true
      case nil: break
      }
      guard MonotonicInstant.now() < end else { throw .join(.notApproved(name: note.computer, digits: digits)) }
      guard wasSaid == hasSaid else { continue }
      guard interrupt.wait(milliseconds: Self.pause) == .timeOver else { throw .interrupted }
    }
  }

  /// The administrators with the code's digest; nil for a code without a digest. Throws for others: the service's
  /// answer alone does not count.
  private func anchored(_ named: FleetAnchor?) throws(CommandProblem) -> FleetAnchor? {
    guard let digest = code.fleet else { return nil }
    guard let named, Digest.areEqual(named.digest, digest) else { throw .join(.otherAdministrators) }
    return named
  }

  /// How long the service may hold the next request, in seconds.
  private static func hold(until end: MonotonicInstant) -> Int64 {
    min(greatestHold, max(1, end.milliseconds(since: .now()) / 1_000))
  }

  private func request(_ note: JoinNote, hold: Int64?) -> HTTPRequest {
    let prefer = hold.map { [(name: "Prefer", value: "wait=\($0)")] } ?? []
    return HTTPRequest(
      method: .post, url: server.route([JoinRequest.path]), headers: [("Content-Type", "application/json")] + prefer,
      body: JoinRequest(code: code.secret, name: note.computer, secret: note.secret).encoded())
  }

  /// Asks until a service that has too much to do has answered.
  private func firstAnswer(
    _ request: HTTPRequest, _ transport: WorkerTransport, _ busy: inout BusyService
  ) throws(CommandProblem) -> JoinReply? {
    while true {
      do { return try ask(request, transport, mayWait: false) } catch {
        guard let refusal = error.serviceError, try busy.pauses(after: refusal) else { throw error }
      }
    }
  }

  /// - Parameter mayWait: whether to go on if network or service are out of reach for a moment.
  ///
  /// - Returns: nil if the service could not be asked.
  private func ask(_ request: HTTPRequest, _ transport: WorkerTransport, mayWait: Bool) throws(CommandProblem)
    -> JoinReply?
  {
    let reply: HTTPReply
    do { reply = try transport.exchange(request, deadline: .now().advanced(milliseconds: Self.patience)) } catch {
      if error.code == .interrupted { throw .interrupted }
      guard mayWait else { throw .unreachable(server, error) }
      return nil
    }
    switch reply.status {
    case 200, 202:
      do { return try JoinReply(parsing: reply.body) } catch { throw .service(.badReply(error)) }
    case 403, 404:
      // A service without this route does not give a reason.
      guard let reason = (try? JSON.reason(in: reply.body)) ?? nil else { throw .service(.notFound) }
      throw .join(.refused(reason))
    case 429, 500...599:
      guard !mayWait else { return nil }
      guard reply.status == 429 else { throw .service(.serverFailed(status: reply.status)) }
      throw .service(.tooManyRequests(retryAfter: reply.header("Retry-After").flatMap { Int64($0) }))
    default: throw .service(.unexpectedStatus(reply.status))
    }
  }
}

/// What the service has registered for this computer.
struct JoinedComputer {
  let credential: String
  let host: String
  /// The application's name, which is safe to print.
  let application: String
  /// The administrators whose phones sign the list of users; nil: the service itself is trusted.
  let fleet: Fleet?

  /// Checks the values that will be written. Phones would show a wrong computer's name.
  init(
    credential: String, host: String, application: String, fleet: FleetAnchor?, as computer: String
  ) throws(CommandProblem) {
    guard host == computer else { throw .service(.badReply(.member("host"))) }
    guard ServiceCredential.isValue(credential) else { throw .service(.badReply(.member("application_id"))) }
    self.credential = credential
    self.host = host
    self.application = DisplayText.sanitized(application)
    self.fleet = fleet.map { Fleet(credential: credential, anchor: $0) }
  }
}

extension JSON {
  /// The `reason` of a refusal; nil if it has none.
  fileprivate static func reason(in body: [UInt8]) throws(MessageError) -> String? {
    try JSON.reading(body)["reason"]?.string
  }
}
