import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The service's `authentication/*` routes, for one credential.
public final class AuthenticationClient {
  /// The most codes that are drawn until one is free. A user has few requests at once, and there are a hundred codes.
  /// Each refused code brings a compromised service nearer to the code that another terminal shows.
  private static let greatestCodeCount = 3
  /// The most times that a start is sent, each time over a new connection.
  private static let greatestSendCount = 3

  let channel: SignedChannel
  let signer: RequestSigner
  let applicationID: String
  private let bootID: String?
  /// The source of the match codes of the next sign-in.
  public var codes: any MatchCodes = UnsharedMatchCodes()
  /// The code of the next sign-in, and the number of codes drawn for it.
  private var code: Secret?
  private var codeCount = 0
  /// Whether the service may have read any start that this client sent, whatever its result.
  public private(set) var startMayHaveArrived = false
  /// The name of the last start, until its reply is there; nil also for a service that is told no names.
  private var unansweredStart: StartName?

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
  ///   - question: the question for the phone.
  ///   - durationSeconds: the session's greatest length; the service's own default is an hour.
  public func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    switch question {
    case .service: return try start(token: token, question, nil, durationSeconds: durationSeconds, deadline: deadline)
    case .phone(let demand, let context):
      let origin = channel.seal.settings.server.origin
      guard !context.isWithoutCode else {
        let asked = try AskedApproval(demand, code: Secret(""), context: context, origin: origin)
        return try start(token: token, question, asked, durationSeconds: durationSeconds, deadline: deadline)
      }
      while let code = try nextCode() {
        let asked = try AskedApproval(demand, code: code, context: context, origin: origin)
        let answer = try start(token: token, question, asked, durationSeconds: durationSeconds, deadline: deadline)
        switch answer {
        // Another open request of the user has this code.
        case .notStarted(ReasonWord.codeInUse): self.code = nil
        // The same code is asked for again: otherwise the service could have codes drawn until one suits it.
        case .notStarted: return answer
        case .pending, .notVerifiable, .wantsCode:
          self.code = nil
          codeCount = 0
          return answer
        }
      }
      return .notStarted(reason: ReasonWord.codeInUse)
    }
  }

  /// The sign-in's code, or a new one; nil if ``greatestCodeCount`` codes were refused.
  private func nextCode() throws(ServiceError) -> Secret? {
    if let code { return code }
    guard codeCount < Self.greatestCodeCount else { return nil }
    let drawn = try codes.draw()
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
    // Only `iampass-server` gets more than the published contract has. It has announced one of the two.
    let isOurs = question.context != nil || settings.signedReplies
    let name = isOurs ? StartName.draw() : nil
    let body = StartRequest(
      context: question.context, bootID: isOurs ? bootID : nil, challenge: asked?.challenge,
      matchCode: asked?.shownCode, start: name
    ).encoded()
    // The digest of what the phone will show. The signature covers only the address.
    if isOurs {
      query.append(BodyDigest.item(for: body))
    }
    let url = Secret(
      settings.server.route(
        ["authentication", "authenticate_user", applicationID, token.exposedValue], query: query))
    unansweredStart = name
    let reply = try sendStart(url, body, mayRepeat: name != nil, deadline: deadline)
    unansweredStart = nil
    switch try understood({ () throws(MessageError) in try StartReply(parsing: reply.body) }) {
    case .notStarted(let reason): return .notStarted(reason: reason)
    case .started(let started): return try answer(started, question, asked)
    }
  }

  /// Sends a start, and sends it again if its connection is lost and the service recognizes a repeated start by its
  /// name.
  ///
  /// - Throws: an error by which the phone may have rung, if a start that was lost may have rung it. The failure of its
  ///   repetition proves nothing about that: after an outage alone, `fail=open` would open.
  private func sendStart(
    _ url: Secret, _ body: [UInt8], mayRepeat: Bool, deadline: MonotonicInstant
  ) throws(ServiceError) -> HTTPReply {
    var count = 1
    var lost: ServiceError?
    while true {
      do throws(ServiceError) {
        // A separate step, so that no readable address with the user's token outlives it.
        let sealed = try channel.seal.request(.post, url.exposedValue, by: signer, body: body)
        let reply = try channel.exchange(sealed, deadline: deadline)
        startMayHaveArrived = true
        return reply
      } catch {
        if error.mayHaveArrived { startMayHaveArrived = true }
        guard mayRepeat, count < Self.greatestSendCount, error.isLostConnection, takesStartsAgain(deadline: deadline)
        else { throw error.mayHaveRung ? error : lost ?? error }
        if error.mayHaveRung { lost = error }
        count += 1
      }
    }
  }

  /// Ends the request of the last start by its name, if its reply did not come: the service may still be storing it, and
  /// without the reply nobody knows its address. A service without this route answers ``ServiceError/notFound``.
  public func cancelUnansweredStart(deadline: MonotonicInstant) throws(ServiceError) {
    guard let name = unansweredStart else { return }
    unansweredStart = nil
    let url = channel.seal.settings.server.route(["authentication", "cancel_start", applicationID, name.text])
    try acknowledged(try channel.send(.post, url, by: signer, deadline: deadline))
  }

  /// Whether the service recognizes a repeated start. Otherwise the first start may have rung the phone, and a second
  /// one would ring it again.
  private func takesStartsAgain(deadline: MonotonicInstant) -> Bool {
    let probe = ServiceProbe(channel)
    for _ in 1..<Self.greatestSendCount {
      do { return try probe.greeting(deadline: deadline).announcement?.repeatedStarts ?? false } catch {
        guard error.isLostConnection else { return false }
      }
    }
    return false
  }

  private func answer(
    _ started: StartedSession, _ question: ApprovalQuestion, _ asked: AskedApproval?
  ) throws(ServiceError) -> StartAnswer {
    let settings = channel.seal.settings
    let remote = try RemoteSession(
      statusURL: started.statusURL, logoutURL: started.logoutURL, token: started.token, secret: started.secret,
      name: started.name, settings: settings)
    if question.context?.isWithoutCode == true, started.matchCode != nil { return .wantsCode(remote) }
    guard let asked else {
      return .pending(PendingSession(remote: remote, started: started, server: settings.server, evidence: .service))
    }
    guard let name = started.name, asked.isRepeated(in: started) else { return .notVerifiable(remote) }
    let evidence = ApprovalEvidence.phone(ApprovalCheck(asked: asked, session: name))
    return .pending(PendingSession(remote: remote, started: started, server: settings.server, evidence: evidence))
  }

  /// Asks whether the session was approved.
  ///
  /// - Parameter waitSeconds: how long the service may hold its reply (`Prefer: wait`, RFC 7240); nil: it replies at
  ///   once.
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

  /// The user's phones, identified by digests of their keys. Every credential may ask.
  ///
  /// - Throws: ``ServiceError/notFound`` for a user whom the service does not know, and by a service without this route.
  public func phoneDigests(of token: Secret, deadline: MonotonicInstant) throws(ServiceError) -> PhoneDigestsReply {
    let url = channel.seal.settings.server.route(
      ["authentication", "user_phone_digests", applicationID, token.exposedValue])
    let reply = try channel.send(.get, url, by: signer, deadline: deadline)
    return try understood { () throws(MessageError) in try PhoneDigestsReply(parsing: reply.body) }
  }

  /// A page of what the service noted of this computer's sign-ins, the newest first. Only a host credential may ask.
  ///
  /// - Parameters:
  ///   - since: Unix seconds.
  ///   - before: entries with smaller ids; nil: the newest.
  /// - Throws: ``ServiceError/notFound`` by a service without this route, and ``ServiceError/replyForAnother``.
  public func audit(since: Int64, before: Int64?, deadline: MonotonicInstant) throws(ServiceError) -> HostAuditReply {
    var query = [("since", String(since))]
    if let before { query.append(("before", String(before))) }
    let url = channel.seal.settings.server.route(["authentication", "audit", applicationID], query: query)
    let reply = try channel.send(.get, url, by: signer, deadline: deadline)
    let page = try understood { () throws(MessageError) in try HostAuditReply(parsing: reply.body) }
    guard page.credential == applicationID else { throw .replyForAnother }
    return page
  }

  /// Sends a signed request that has no effect. It fails like ``start(token:_:durationSeconds:deadline:)`` if the
  /// service is out of reach. A service without this route answers too.
  public func reach(deadline: MonotonicInstant) throws(ServiceError) {
    do { _ = try channel.exchange(channel.seal.markRequest(), deadline: deadline) } catch {
      guard error == .notFound else { throw error }
    }
  }

  /// Ends the session at the service, or cancels its request. ``SessionInquiry/confirmEnd(_:to:)`` says what counts as
  /// ended.
  public func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    let inquiry = SessionInquiry(seal: channel.seal)
    let question = try inquiry.end(session)
    try inquiry.confirmEnd(try channel.uncheckedReply(to: question, deadline: deadline), to: question)
  }
}

/// Reads a reply that says only whether the service acted. Throws if it did not.
@discardableResult
func acknowledged(_ reply: HTTPReply) throws(ServiceError) -> AcknowledgementReply {
  let answer = try understood { () throws(MessageError) in try AcknowledgementReply(parsing: reply.body) }
  guard answer.done else { throw .badReply(.refused(reason: answer.reason)) }
  return answer
}

/// Turns an error of a message's reader into a service error.
func understood<Message>(_ read: () throws(MessageError) -> Message) throws(ServiceError) -> Message {
  do { return try read() } catch { throw .badReply(error) }
}
