import IAMPASSProtocol

/// Who asks: an application's own credential, or a host's.
public struct ServiceCredential: Sendable {
  public let applicationID: String
  public let secret: Secret

  public init(applicationID: String, secret: Secret) {
    self.applicationID = applicationID
    self.secret = secret
  }
}

/// Which service, and how it is spoken to.
public struct ServiceSettings: Sendable {
  public let server: ServerURL
  public let scheme: SigningScheme
  public let dialect: Dialect
  /// Refuse replies that do not carry the service's own signature.
  public let signedReplies: Bool
  /// Refuse replies whose signature does not cover what was asked; ``signedReplies`` is then true as well.
  public let signedTargets: Bool

  public init(
    server: ServerURL, scheme: SigningScheme, dialect: Dialect, signedReplies: Bool, signedTargets: Bool = false
  ) {
    self.server = server
    self.scheme = scheme
    self.dialect = dialect
    self.signedReplies = signedReplies || signedTargets
    self.signedTargets = signedTargets
  }
}

/// Signs requests, sends them, and gives back replies whose status and signature were looked at.
final class SignedChannel {
  let seal: RequestSeal
  private let transport: any HTTPTransport

  init(seal: RequestSeal, transport: any HTTPTransport) {
    self.seal = seal
    self.transport = transport
  }

  /// Sends one request and returns its 2xx reply.
  func send(
    _ method: HTTPRequest.Method, _ url: String, by signer: RequestSigner, preferWait: Int64? = nil,
    body: [UInt8] = [], deadline: MonotonicInstant
  ) throws(ServiceError) -> HTTPReply {
    try exchange(seal.request(method, url, by: signer, preferWait: preferWait, body: body), deadline: deadline)
  }

  /// Sends a request that is signed already.
  func exchange(_ sealed: SealedRequest, deadline: MonotonicInstant) throws(ServiceError) -> HTTPReply {
    let reply: HTTPReply
    do { reply = try transport.exchange(sealed.request, deadline: deadline) } catch { throw .transport(error) }
    try seal.check(reply, to: sealed)
    return reply
  }
}

/// A request with its signature, and what its reply is checked by.
public struct SealedRequest: Sendable {
  public let request: HTTPRequest
  let nonce: String
  /// What of its address the request's signature is over.
  fileprivate let covered: String
  /// The session that it asks about, where it asks about one.
  private(set) var session: RemoteSession?

  func about(_ session: RemoteSession) -> SealedRequest {
    var request = self
    request.session = session
    return request
  }
}

/// Signs requests, and looks at the status and the signature of their replies.
public struct RequestSeal {
  /// Requests older or younger than this many seconds are refused by the service.
  static let clockWindow: Int64 = 300

  let settings: ServiceSettings
  private let credential: ServiceCredential
  private let unixTime: () -> Int64

  /// - Parameter unixTime: the wall clock in seconds, for the requests' timestamps.
  public init(settings: ServiceSettings, credential: ServiceCredential, unixTime: @escaping () -> Int64) {
    self.settings = settings
    self.credential = credential
    self.unixTime = unixTime
  }

  func request(
    _ method: HTTPRequest.Method, _ url: String, by signer: RequestSigner, preferWait: Int64? = nil, body: [UInt8] = []
  ) throws(ServiceError) -> SealedRequest {
    guard let nonce = Digest.randomNonce() else { throw .noRandomness }
    guard let covered = signer.covered(url),
      var headers = signer.headers(nonce: nonce, timestamp: unixTime(), uri: url, dialect: settings.dialect)
    else { throw .foreignAddress }
    headers.append(("Content-Type", "application/json"))
    if let preferWait { headers.append(("Prefer", "wait=\(preferWait)")) }
    let request = HTTPRequest(method: method, url: url, headers: headers, body: body)
    return SealedRequest(request: request, nonce: String(nonce), covered: covered)
  }

  /// The question that ``ServiceMark`` answers, signed by the credential itself: a service that forgot a session knows
  /// neither its token nor whose it was.
  func markRequest() throws(ServiceError) -> SealedRequest {
    let signer: RequestSigner
    do {
      signer = try RequestSigner(clientID: credential.applicationID, secret: credential.secret, scheme: settings.scheme)
    } catch { throw .badSessionSecret }
    let url = settings.server.route(["authentication", "service_mark", credential.applicationID])
    return try request(.get, url, by: signer)
  }

  func check(_ reply: HTTPReply, to sealed: SealedRequest) throws(ServiceError) {
    try checkStatus(reply)
    try checkSignature(reply, to: sealed)
  }

  /// A link that was asked for sealed. A service of an older version gives it as it is, which one that is known to sign
  /// targets never does.
  func link(in reply: HTTPReply, to sealed: SealedRequest) throws(ServiceError) -> String {
    switch try understood({ () throws(MessageError) in try SealedLinkReply(parsing: reply.body) }) {
    case .sealed(let text):
      guard let link = LinkSeal(secret: credential.secret, nonce: sealed.nonce).opened(text) else {
        throw .badReply(.member("sealed_register_url"))
      }
      return link
    case .plain(let link):
      guard !settings.signedTargets else { throw .badReply(.member("sealed_register_url")) }
      return link
    }
  }

  /// Only a 2xx reply is read. A refusal needs no signature: it opens nothing.
  private func checkStatus(_ reply: HTTPReply) throws(ServiceError) {
    switch reply.status {
    case 200..<300: return
    case 300..<400: throw .redirected(status: reply.status)
    case 401, 403:
      if let minutes = clockDifference(reply) { throw .clockDiffers(minutes: minutes) }
      throw .notAccepted(status: reply.status)
    case 404, 410: throw .notFound
    case 429: throw .tooManyRequests(retryAfter: reply.header("Retry-After").flatMap(Self.seconds))
    case 500..<600: throw .serverFailed(status: reply.status)
    default: throw .unexpectedStatus(reply.status)
    }
  }

  private func checkSignature(_ reply: HTTPReply, to sealed: SealedRequest) throws(ServiceError) {
    guard settings.signedReplies else { return }
    switch ReplyStrength(reply, to: sealed.request, nonce: sealed.nonce, covered: sealed.covered, credential) {
    case .target: return
    case .plain: guard !settings.signedTargets else { throw .replyTargetNotSigned }
    case .none: throw .replyNotSigned
    }
  }

  /// Whole minutes, where the clocks are further apart than the service allows.
  private func clockDifference(_ reply: HTTPReply) -> Int64? {
    guard let theirs = reply.header("Date").flatMap(HTTPDate.unixTime) else { return nil }
    let difference = (theirs - unixTime()).magnitude
    return difference > Self.clockWindow ? Int64(difference / 60) : nil
  }

  /// `Retry-After` in seconds; its date form is not used by any IAMPASS service and is left aside.
  private static func seconds(_ text: String) -> Int64? {
    Int64(text).flatMap { $0 >= 0 ? $0 : nil }
  }
}

/// What a reply's signatures prove.
enum ReplyStrength {
  /// Nothing: there is none, or one of them is wrong.
  case none
  /// That the service gave this reply under this nonce.
  case plain
  /// That it gave it to this question.
  case target

  /// - Parameter covered: what of its address the request's signature is over.
  init(
    _ reply: HTTPReply, to request: HTTPRequest, nonce: String, covered: String, _ credential: ServiceCredential
  ) {
    func isRight(_ received: String, _ expected: String) -> Bool {
      Digest.areEqual(Array(expected.utf8), Array(received.utf8))
    }
    if let received = reply.header(ReplySignature.targetHeader) {
      let expected = ReplySignature.targetSignature(
        secret: credential.secret, nonce: nonce, method: request.method.rawValue, address: covered,
        status: reply.status, body: reply.body)
      self = isRight(received, expected) ? .target : .none
    } else if let received = reply.header(ReplySignature.header) {
      let expected = ReplySignature.signature(
        secret: credential.secret, nonce: nonce, status: reply.status, body: reply.body)
      self = isRight(received, expected) ? .plain : .none
    } else {
      self = .none
    }
  }
}
