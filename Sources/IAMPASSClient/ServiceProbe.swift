import IAMPASSProtocol

/// Calls that change nothing and ring no phone, for finding out how a service is spoken to.
public final class ServiceProbe {
  /// What the service says of itself, to anybody.
  public struct Greeting: Sendable, Equatable {
    /// Nil for a service that has no such page, or another one at its place.
    public let announcement: ServiceAnnouncement?
    /// The service's clock minus ours, in seconds; nil where it did not tell.
    public let clockDifference: Int64?
  }

  /// What a credential reaches.
  public enum CredentialKind: String, Sendable {
    /// The application's own: users and phones are managed with it.
    case application
    /// One host's: sign-ins only.
    case host
  }

  public enum Acceptance: Sendable, Equatable {
    /// With whether the service signed its reply, rightly, and whether what was asked is under the signature too.
    case accepted(CredentialKind, signsReplies: Bool, signsTargets: Bool)
    /// The signature is not accepted, or the credential is cut off.
    case refused
    case unknownApplication
    /// The service's clock minus ours, in seconds: too far apart for any signature.
    case clockDiffers(Int64)
  }

  private let server: ServerURL
  private let dialect: Dialect
  private let transport: any HTTPTransport
  private let unixTime: () -> Int64

  /// - Parameter unixTime: the wall clock in seconds.
  public init(
    server: ServerURL, dialect: Dialect, transport: any HTTPTransport, unixTime: @escaping () -> Int64
  ) {
    self.server = server
    self.dialect = dialect
    self.transport = transport
    self.unixTime = unixTime
  }

  /// Reads ``ServiceAnnouncement/path``; any complete reply counts.
  public func greeting(deadline: MonotonicInstant) throws(ServiceError) -> Greeting {
    let url = server.route([".well-known", "iampass"])
    let reply = try exchange(HTTPRequest(method: .get, url: url, headers: []), deadline)
    let announcement = reply.status == 200 ? try? ServiceAnnouncement(parsing: reply.body) : nil
    return Greeting(announcement: announcement, clockDifference: clockDifference(reply))
  }

  /// Asks for the phone of a user whom nobody has, signed.
  ///
  /// - Parameter mayBeHost: whether the service has credentials for hosts, which reach sign-ins only.
  public func acceptance(
    of credential: ServiceCredential, scheme: SigningScheme, mayBeHost: Bool, deadline: MonotonicInstant
  ) throws(ServiceError) -> Acceptance {
    let own = try ask(.application, credential, scheme, deadline)
    guard own == .refused, mayBeHost else { return own }
    return try ask(.host, credential, scheme, deadline)
  }

  private func ask(
    _ kind: CredentialKind, _ credential: ServiceCredential, _ scheme: SigningScheme, _ deadline: MonotonicInstant
  ) throws(ServiceError) -> Acceptance {
    let (reply, strength) = try call(kind, credential, scheme, deadline)
    switch reply.status {
    case 401, 403:
      guard let difference = clockDifference(reply), difference.magnitude > RequestSeal.clockWindow else {
        return .refused
      }
      return .clockDiffers(difference)
    case 200..<300, 404, 410:
      guard strength == .none else {
        return .accepted(kind, signsReplies: true, signsTargets: strength == .target)
      }
      // "Not found" may be said before anyone looks at the signature: a wrong one must be told from this one.
      let isLookedAt = try [401, 403].contains(call(kind, Self.stranger(credential), scheme, deadline).0.status)
      return isLookedAt ? .accepted(kind, signsReplies: false, signsTargets: false) : .unknownApplication
    case 300..<400: throw .redirected(status: reply.status)
    case 429: throw .tooManyRequests(retryAfter: nil)
    case 500..<600: throw .serverFailed(status: reply.status)
    default: throw .unexpectedStatus(reply.status)
    }
  }

  private func call(
    _ kind: CredentialKind, _ credential: ServiceCredential, _ scheme: SigningScheme, _ deadline: MonotonicInstant
  ) throws(ServiceError) -> (HTTPReply, ReplyStrength) {
    guard let nonce = Digest.randomNonce(), let nobody = Digest.randomIdentifier() else { throw .noRandomness }
    let route =
      switch kind {
      case .application: ["management", "has_registered_mobile_device", credential.applicationID, nobody]
      case .host: ["authentication", "authenticate_user", credential.applicationID, nobody]
      }
    let url = server.route(route)
    let signer: RequestSigner
    do {
      signer = try RequestSigner(clientID: credential.applicationID, secret: credential.secret, scheme: scheme)
    } catch { throw .badSessionSecret }
    guard let covered = signer.covered(url),
      var headers = signer.headers(nonce: nonce, timestamp: unixTime(), uri: url, dialect: dialect)
    else { throw .foreignAddress }
    headers.append(("Content-Type", "application/json"))
    let request = HTTPRequest(
      method: kind == .application ? .get : .post, url: url, headers: headers,
      body: kind == .application ? [] : StartRequest(context: nil).encoded())
    let reply = try exchange(request, deadline)
    return (reply, ReplyStrength(reply, to: request, nonce: String(nonce), covered: covered, credential))
  }

  /// The same application with a secret that is not its own.
  private static func stranger(_ credential: ServiceCredential) throws(ServiceError) -> ServiceCredential {
    guard let random = Digest.randomBytes(18) else { throw .noRandomness }
    // 24 characters, which every signing scheme takes.
    return ServiceCredential(applicationID: credential.applicationID, secret: Secret(Base64.encode(random)))
  }

  private func exchange(_ request: HTTPRequest, _ deadline: MonotonicInstant) throws(ServiceError) -> HTTPReply {
    do { return try transport.exchange(request, deadline: deadline) } catch { throw .transport(error) }
  }

  private func clockDifference(_ reply: HTTPReply) -> Int64? {
    reply.header("Date").flatMap(HTTPDate.unixTime).map { $0 - unixTime() }
  }
}
