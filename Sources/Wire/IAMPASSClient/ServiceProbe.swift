import HostSystem
import IAMPASSProtocol
import WorkerLink

/// Requests that find out what a service supports. They change nothing and ring no phone.
public final class ServiceProbe {
  /// What the service tells everyone about itself.
  public struct Greeting: Sendable, Equatable {
    /// Nil for a service without such a page, or with another page at this path.
    public let announcement: ServiceAnnouncement?
    /// The service's clock minus ours, in seconds; nil if the reply has no date.
    public let clockDifference: Int64?
  }

  /// The routes that a credential may use.
  public enum CredentialKind: String, Sendable {
    /// The application's own: manages users and phones.
    case application
    /// One host's: sign-ins only.
    case host
  }

  public enum Acceptance: Sendable, Equatable {
    /// Says whether the service correctly signed its reply, and whether the signature covers the target too.
    case accepted(CredentialKind, signsReplies: Bool, signsTargets: Bool)
    /// The signature is not accepted, or the credential is revoked.
    case refused
    case unknownApplication
    /// The service's clock minus ours, in seconds: too far apart for any signature.
    case clockDiffers(Int64)
  }

  private let server: ServerURL
  private let dialect: Dialect
  private let transport: any HTTPTransport
  private let unixTime: () -> Int64

  /// - Parameter unixTime: the wall clock in seconds since 1970.
  public init(
    server: ServerURL, dialect: Dialect, transport: any HTTPTransport, unixTime: @escaping () -> Int64
  ) {
    self.server = server
    self.dialect = dialect
    self.transport = transport
    self.unixTime = unixTime
  }

  convenience init(_ channel: SignedChannel) {
    self.init(
      server: channel.seal.settings.server, dialect: channel.seal.settings.dialect, transport: channel.transport,
      unixTime: channel.seal.unixTime)
  }

  /// Reads ``ServiceAnnouncement/path``; any complete reply counts.
  public func greeting(deadline: MonotonicInstant) throws(ServiceError) -> Greeting {
    let url = server.route([".well-known", "iampass"])
    let reply = try exchange(HTTPRequest(method: .get, url: url, headers: []), deadline)
    let announcement = reply.status == 200 ? try? ServiceAnnouncement(parsing: reply.body) : nil
    return Greeting(announcement: announcement, clockDifference: ReplyCheck.clockDifference(of: reply, now: unixTime()))
  }

  /// Sends a signed question about the phone of a user who does not exist.
  ///
  /// - Parameter mayBeHost: whether the service supports host credentials, which may only sign in.
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
    let check = try call(kind, credential, scheme, deadline)
    switch check.refusal {
    case nil, .notFound: break
    case .notAccepted: return .refused
    case .clockDiffers(let minutes): return .clockDiffers(check.clockDifference ?? minutes * 60)
    case let error?: throw error
    }
    guard check.strength == .none else {
      return .accepted(kind, signsReplies: true, signsTargets: check.strength == .target)
    }
    // A service may say "not found" before it checks the signature. So a wrong signature must get a different answer.
    let stranger = try call(kind, Self.stranger(credential), scheme, deadline)
    return stranger.isTurnedAway
      ? .accepted(kind, signsReplies: false, signsTargets: false) : .unknownApplication
  }

  private func call(
    _ kind: CredentialKind, _ credential: ServiceCredential, _ scheme: SigningScheme, _ deadline: MonotonicInstant
  ) throws(ServiceError) -> ReplyCheck {
    guard let nobody = Digest.randomIdentifier() else { throw .noRandomness }
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
    // Nothing is required of the replies yet: this finds out what they prove.
    let settings = ServiceSettings(server: server, scheme: scheme, dialect: dialect, signedReplies: false)
    let seal = RequestSeal(settings: settings, credential: credential, unixTime: unixTime)
    let question = try seal.request(
      kind == .application ? .get : .post, url, by: signer,
      body: kind == .application ? [] : StartRequest(context: nil).encoded())
    return seal.check(of: try exchange(question.request, deadline), to: question)
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
}
