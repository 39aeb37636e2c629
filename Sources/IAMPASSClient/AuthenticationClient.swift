import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The service's `authentication/*` routes, for one credential.
public final class AuthenticationClient {
  /// So many codes are drawn at most until one is free: a user has few requests at once, and there are a hundred codes.
  /// Each refused code brings a broken service nearer to the one that it wants, which another terminal shows.
  private static let greatestCodeCount = 3

  private let channel: SignedChannel
  private let signer: RequestSigner
  private let applicationID: String
  private let bootID: String?
  /// The code of the sign-in that is to start, and how many were drawn for it.
  private var code: Secret?
  private var codeCount = 0

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
  ///   - question: what the phone is asked, and whose word counts.
  ///   - durationSeconds: the session's greatest length; the service's own default is an hour.
  public func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    switch question {
    case .service: return try start(token: token, question, nil, durationSeconds: durationSeconds, deadline: deadline)
    case .phone(let demand, let context):
      let origin = channel.seal.settings.server.origin
      while let code = try nextCode() {
        let asked = try AskedApproval(demand, code: code, context: context, origin: origin)
        let answer = try start(token: token, question, asked, durationSeconds: durationSeconds, deadline: deadline)
        switch answer {
        // Another open request of the user has this code.
        case .notStarted(ReasonWord.codeInUse): self.code = nil
        // The same code is asked for again: otherwise the service could have it drawn until the code suits it.
        case .notStarted: return answer
        case .pending, .notVerifiable:
          self.code = nil
          codeCount = 0
          return answer
        }
      }
      return .notStarted(reason: ReasonWord.codeInUse)
    }
  }

  /// The code that the sign-in has, or another one; nil if so many were refused that no further one is drawn.
  private func nextCode() throws(ServiceError) -> Secret? {
    if let code { return code }
    guard codeCount < Self.greatestCodeCount else { return nil }
    guard let drawn = AskedApproval.drawCode() else { throw .noRandomness }
    codeCount += 1
    code = drawn
    return drawn
  }

  private func start(
    token: Secret, _ question: ApprovalQuestion, _ asked: AskedApproval?, durationSeconds: Int64,
    deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    let settings = channel.seal.settings
    var query: [(String, String)] = []
    let methods = question.methods
    if !methods.isEmpty { query.append(("methods", methods.map(\.rawValue).joined(separator: ","))) }
    query.append(("duration_seconds", String(durationSeconds)))
    // Only `iampass-server` is told more than the published contract has: it announced one of the two.
    let isOurs = question.context != nil || settings.signedReplies
    let body = StartRequest(
      context: question.context, bootID: isOurs ? bootID : nil, challenge: asked?.challenge, matchCode: asked?.code
    ).encoded()
    // The digest of what the phone will show: the signature covers the address alone.
    if isOurs {
      query.append(BodyDigest.item(for: body))
    }
    let url = settings.server.route(
      ["authentication", "authenticate_user", applicationID, token.exposedValue], query: query)
    let reply = try channel.send(.post, url, by: signer, body: body, deadline: deadline)
    switch try understood({ () throws(MessageError) in try StartReply(parsing: reply.body) }) {
    case .notStarted(let reason): return .notStarted(reason: reason)
    case .started(let started): return try answer(started, asked)
    }
  }

  private func answer(_ started: StartedSession, _ asked: AskedApproval?) throws(ServiceError) -> StartAnswer {
    let settings = channel.seal.settings
    let remote = try RemoteSession(
      statusURL: started.statusURL, logoutURL: started.logoutURL, token: started.token, secret: started.secret,
      name: started.name, settings: settings)
    guard let asked else {
      return .pending(PendingSession(remote: remote, started: started, server: settings.server, evidence: .service))
    }
    guard let name = started.name, asked.isRepeated(in: started) else { return .notVerifiable(remote) }
    let evidence = ApprovalEvidence.phone(ApprovalCheck(asked: asked, session: name))
    return .pending(PendingSession(remote: remote, started: started, server: settings.server, evidence: evidence))
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

  /// Which phones the user has, by digests of their keys. Every credential may ask.
  ///
  /// - Throws: ``ServiceError/notFound`` for a user whom the service does not know, and by a service without this route.
  public func phoneDigests(of token: Secret, deadline: MonotonicInstant) throws(ServiceError) -> PhoneDigestsReply {
    let url = channel.seal.settings.server.route(
      ["authentication", "user_phone_digests", applicationID, token.exposedValue])
    let reply = try channel.send(.get, url, by: signer, deadline: deadline)
    return try understood { () throws(MessageError) in try PhoneDigestsReply(parsing: reply.body) }
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
