import IAMPASSProtocol
import WorkerLink

/// The service's answer about an approved session.
public enum SessionAnswer: Sendable, Equatable {
  /// `held`: the service waits with its reply until something changes, over a connection that many requests share.
  /// `reason`: why the session is over; nil unless replies must be signed.
  case status(SessionStatus, held: Bool, reason: String? = nil)
  /// Both `active` and not authenticated, or a request that was never answered. This proves nothing.
  case contradiction
  /// 404 or 410 in the service's own JSON. A proxy's page does not count.
  case unknownSession
}

/// The service's answer to a report that a code was used.
public enum CodeUseAnswer: Sendable, Equatable {
  case noted
  /// The user has said on the phone that someone else used the code.
  case disowned
  /// The service does not know the user, or does not accept such reports.
  case refused
}

/// Makes questions about sessions and reads their replies, for a loop with many questions under way.
public struct SessionInquiry {
  let seal: RequestSeal

  public init(seal: RequestSeal) { self.seal = seal }

  /// - Parameter waitSeconds: how long the service may hold its reply (`Prefer: wait`, RFC 7240); nil: it replies at
  ///   once.
  public func status(of session: RemoteSession, waitSeconds: Int64?) throws(ServiceError) -> SealedRequest {
    try seal.request(.get, session.statusURL, by: session.signer, preferWait: waitSeconds).about(session)
  }

  public func end(_ session: RemoteSession) throws(ServiceError) -> SealedRequest {
    try seal.request(.post, session.logoutURL, by: session.signer).about(session)
  }

  /// Asks for the service's position in its history: a restored service may have forgotten a session.
  public func mark() throws(ServiceError) -> SealedRequest { try seal.markRequest() }

  /// The mark of a reply to ``status(of:waitSeconds:)`` or ``mark()``; nil if the service sends none.
  ///
  /// - Throws: for every reply but 2xx, also if the service lacks the route or does not know the credential. Also for
  ///   an unsigned reply if signed replies are required.
  public func mark(_ reply: HTTPReply, to question: SealedRequest) throws(ServiceError) -> ServiceMark? {
    try seal.check(reply, to: question)
    return ServiceMark(in: reply.body)
  }

  /// - Throws: for every reply that does not answer about the session. An outage never does.
  public func answer(_ reply: HTTPReply, to question: SealedRequest) throws(ServiceError) -> SessionAnswer {
    do throws(ServiceError) { try seal.check(reply, to: question) } catch {
      guard error == .notFound, isOwnRefusal(reply) else { throw error }
      return .unknownSession
    }
    guard reply.status == 200 else { throw .unexpectedStatus(reply.status) }
    let status = try understood { () throws(MessageError) in try StatusReply(parsing: reply.body) }
    try question.session?.require(status.session)
    if status.status == .active, status.authenticated == false { return .contradiction }
    let waits = reply.header("Preference-Applied")?.hasPrefix("wait") ?? false
    let reason = seal.settings.signedReplies ? status.reason : nil
    return .status(status.status, held: waits && reply.isMultiplexed, reason: reason)
  }

  /// Returns if the session was ended or no longer exists: 404 or 410 in the service's own JSON. A proxy's page for a
  /// wrong path proves nothing about the session.
  ///
  /// - Throws: for every other reply; the session may go on.
  public func confirmEnd(_ reply: HTTPReply, to question: SealedRequest) throws(ServiceError) {
    do throws(ServiceError) {
      try seal.check(reply, to: question)
      try question.session?.require(acknowledged(reply).session)
    } catch {
      guard error == .notFound, isOwnRefusal(reply) else { throw error }
    }
  }

  /// Reports a use of a recovery code.
  public func codeUse(_ report: CodeUseReport, of token: Secret) throws(ServiceError) -> SealedRequest {
    try seal.codeUseRequest(report, of: token)
  }

  /// - Throws: for every reply that is not an answer to the report. A proxy's page for a wrong path says nothing about
  ///   the user.
  public func answerToCodeUse(_ reply: HTTPReply, to question: SealedRequest) throws(ServiceError) -> CodeUseAnswer {
    do throws(ServiceError) { try seal.check(reply, to: question) } catch {
      guard error == .notFound, isOwnRefusal(reply), isSigned(reply, to: question) else { throw error }
      return .refused
    }
    let answer = try understood { () throws(MessageError) in try CodeUseReply(parsing: reply.body) }
    return answer.isDisowned ? .disowned : .noted
  }

  /// Whether the service itself gave this reply, whatever its content. A service that signs nothing is believed.
  private func isSigned(_ reply: HTTPReply, to question: SealedRequest) -> Bool {
    guard seal.settings.signedReplies else { return true }
    switch seal.check(of: reply, to: question).strength {
    case .target: return true
    case .plain: return !seal.settings.signedTargets
    case .none: return false
    }
  }

  private func isOwnRefusal(_ reply: HTTPReply) -> Bool {
    guard let body = try? JSON(parsing: reply.body) else { return false }
    // A framework's page for a wrong path may be JSON too, and give the number as `status`.
    if case .object? = body["authentication_status"] { return true }
    return body["status"] == .bool(false)
  }
}
