import IAMPASSProtocol
import WorkerLink

/// A signed request, and what is needed to check its reply.
public struct SealedRequest: Sendable {
  public let request: HTTPRequest
  let nonce: String
  /// The part of the address that the request's signature covers; it may contain a user's token.
  let covered: Secret
  /// The session that the request asks about; nil if it is not about a session.
  private(set) var session: RemoteSession?

  func about(_ session: RemoteSession) -> SealedRequest {
    var request = self
    request.session = session
    return request
  }
}

/// Signs requests and checks their replies.
public struct RequestSeal {
  let settings: ServiceSettings
  private let credential: ServiceCredential
  let unixTime: () -> Int64

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
    return SealedRequest(request: request, nonce: String(nonce), covered: Secret(covered))
  }

  /// The request for a ``ServiceMark``, signed by the credential: a service that forgot a session knows neither its
  /// token nor its owner.
  func markRequest() throws(ServiceError) -> SealedRequest {
    try request(
      .get, settings.server.route(["authentication", "service_mark", credential.applicationID]), by: ownSigner())
  }

  var credentialID: String { credential.applicationID }

  func userListRequest(_ question: UserListQuestion, waitSeconds: Int64?) throws(ServiceError) -> SealedRequest {
    var query = [("version", String(question.since))]
    query.append(question.after.isEmpty ? ("software", ProductVersion.text) : ("after", question.after))
    if let signed = question.signed {
      query += [
        ("signed", "1"), ("epoch", String(signed.epoch)), ("administrators", String(signed.administrators)),
      ]
    }
    if let mark = question.mark {
      query.append(("mark", mark.mark))
      if let former = mark.former { query.append(("former_mark", former)) }
    }
    let url = settings.server.route(["authentication", "user_list", credential.applicationID], query: query)
    return try request(.get, url, by: ownSigner(), preferWait: waitSeconds)
  }

  private func ownSigner() throws(ServiceError) -> RequestSigner {
    do {
      return try RequestSigner(
        clientID: credential.applicationID, secret: credential.secret, scheme: settings.scheme)
    } catch { throw .badSessionSecret }
  }

  /// The report that a code of this token's user was used here.
  func codeUseRequest(_ report: CodeUseReport, of token: Secret) throws(ServiceError) -> SealedRequest {
    let body = report.encoded()
    let url = settings.server.route(
      ["authentication", "code_use", credential.applicationID, token.exposedValue],
      query: [BodyDigest.item(for: body)])
    return try request(.post, url, by: ownSigner(), body: body)
  }

  /// - Throws: for a reply that is not 2xx, and for one without the signature that the settings require.
  func check(_ reply: HTTPReply, to sealed: SealedRequest) throws(ServiceError) {
    let check = self.check(of: reply, to: sealed)
    if let refusal = check.refusal { throw refusal }
    guard settings.signedReplies else { return }
    switch check.strength {
    case .target: return
    case .plain: guard !settings.signedTargets else { throw .replyTargetNotSigned }
    case .none: throw .replyNotSigned
    }
  }

  func check(of reply: HTTPReply, to sealed: SealedRequest) -> ReplyCheck {
    ReplyCheck(reply: reply, question: sealed, credential: credential, now: unixTime())
  }

  /// A link that was requested in sealed form. An older service returns it unsealed. A service that is known to sign
  /// targets never does.
  func link(in reply: HTTPReply, to sealed: SealedRequest) throws(ServiceError) -> String {
    switch try understood({ () throws(MessageError) in try SealedLinkReply(parsing: reply.body) }) {
    case .sealed(let text):
      guard let link = opened(text, by: sealed) else { throw .badReply(.member("sealed_register_url")) }
      return link
    case .plain(let link):
      guard !settings.signedTargets else { throw .badReply(.member("sealed_register_url")) }
      return link
    }
  }

  /// The link that was sealed for this request; nil if another request's seal is on it, or none.
  func opened(_ text: String, by sealed: SealedRequest) -> String? {
    LinkSeal(secret: credential.secret, nonce: sealed.nonce).opened(text)
  }
}
