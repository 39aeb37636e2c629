import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The service's `authentication/*` routes, for one credential.
public final class AuthenticationClient {
  private let channel: SignedChannel
  private let signer: RequestSigner
  private let applicationID: String
  private let bootID: String?

  /// - Parameters:
  ///   - bootID: see ``StartRequest/bootID``; nil leaves earlier sessions alone.
  ///   - unixTime: the wall clock in seconds, for the requests' timestamps.
  /// - Throws: if the secret does not fit the signing scheme.
  public init(
    settings: ServiceSettings, credential: ServiceCredential, transport: any HTTPTransport, bootID: String? = nil,
    unixTime: @escaping () -> Int64
  ) throws(SigningError) {
    let seal = RequestSeal(settings: settings, credential: credential, unixTime: unixTime)
    channel = SignedChannel(seal: seal, transport: transport)
    signer = try RequestSigner(clientID: credential.applicationID, secret: credential.secret, scheme: settings.scheme)
    applicationID = credential.applicationID
    self.bootID = bootID
  }

  /// Asks the phone of the user that `token` stands for.
  ///
  /// - Parameters:
  ///   - methods: none leaves the choice to the service.
  ///   - durationSeconds: the session's greatest length; the service's own default is an hour.
  public func start(
    token: Secret, methods: [AuthenticationMethod], durationSeconds: Int64, context: SignInContext?,
    deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    var query: [(String, String)] = []
    if !methods.isEmpty { query.append(("methods", methods.map(\.rawValue).joined(separator: ","))) }
    query.append(("duration_seconds", String(durationSeconds)))
    // Only `iampass-server` is told more than the published contract has: it announced one of the two.
    let isOurs = context != nil || channel.seal.settings.signedReplies
    let body = StartRequest(context: context, bootID: isOurs ? bootID : nil).encoded()
    // The digest of what the phone will show: the signature covers the address alone.
    if isOurs {
      query.append(BodyDigest.item(for: body))
    }
    let url = channel.seal.settings.server.route(
      ["authentication", "authenticate_user", applicationID, token.exposedValue], query: query)
    let reply = try channel.send(.post, url, by: signer, body: body, deadline: deadline)
    switch try understood({ () throws(MessageError) in try StartReply(parsing: reply.body) }) {
    case .notStarted(let reason): return .notStarted(reason: reason)
    case .started(let started):
      let remote = try RemoteSession(
        statusURL: started.statusURL, logoutURL: started.logoutURL, token: started.token, secret: started.secret,
        name: started.name, settings: channel.seal.settings)
      return .pending(PendingSession(remote: remote, started: started, server: channel.seal.settings.server))
    }
  }

  /// Asks whether the session was approved.
  ///
  /// - Parameter waitSeconds: how long the service may hold its reply (`Prefer: wait`, RFC 7240); nil to be told at
  /// once.
  public func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer {
    let reply = try channel.send(
      .get, session.remote.statusURL, by: session.remote.signer, preferWait: waitSeconds, deadline: deadline)
    guard reply.status == 200 else { throw .unexpectedStatus(reply.status) }
    let status = try understood { () throws(MessageError) in try StatusReply(parsing: reply.body) }
    try session.remote.require(status.session)
    let held = reply.header("Preference-Applied")?.hasPrefix("wait") ?? false
    return try ApprovalAnswer(status, for: session, held: held)
  }

  /// Ends the session at the service, or cancels its request. ``SessionInquiry/confirmEnd(_:to:)`` says what counts as
  /// ended.
  public func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    let inquiry = SessionInquiry(seal: channel.seal)
    let question = try inquiry.end(session)
    try inquiry.confirmEnd(try channel.uncheckedReply(to: question, deadline: deadline), to: question)
  }
}

/// A reply that says nothing but whether it was done: it was.
@discardableResult
func acknowledged(_ reply: HTTPReply) throws(ServiceError) -> AcknowledgementReply {
  let answer = try understood { () throws(MessageError) in try AcknowledgementReply(parsing: reply.body) }
  guard answer.done else { throw .badReply(.refused(reason: answer.reason)) }
  return answer
}

/// Turns what a message's reader throws into the service's error.
func understood<Message>(_ read: () throws(MessageError) -> Message) throws(ServiceError) -> Message {
  do { return try read() } catch { throw .badReply(error) }
}
