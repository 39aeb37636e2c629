import IAMPASSProtocol

/// A session at the service whose addresses are known to be the service's own, and whose secret can sign.
public struct RemoteSession: Sendable {
  public let statusURL: String
  public let logoutURL: String
  public let token: Secret
  public let secret: Secret
  /// The session's name in the service's replies. Nil if the service gave no name at the start, or if replies are not
  /// signed: anybody could then write the name.
  public let name: String?
  /// The same name, signed or not, if it is fit for a log line. It finds the session at the service, and decides
  /// nothing.
  public let label: String?
  let signer: RequestSigner

  /// - Throws: ``ServiceError/foreignAddress``, ``ServiceError/badSessionSecret``.
  public init(
    statusURL: String, logoutURL: String, token: Secret, secret: Secret, name: String?,
    settings: ServiceSettings
  ) throws(ServiceError) {
    do {
      self.statusURL = try settings.server.ownAddress(statusURL)
      self.logoutURL = try settings.server.ownAddress(logoutURL)
    } catch { throw .foreignAddress }
    // The token is put into a header. It must not be another client's id, or contain a character that could end the
    // header.
    guard token.exposedBytes.allSatisfy({ (0x21...0x7E).contains($0) }), token.exposedBytes.count <= 512 else {
      throw .badReply(.member("session_token"))
    }
    self.token = token
    self.secret = secret
    self.name = settings.signedReplies ? name : nil
    label = StartedSession.label(name)
    do {
      signer = try RequestSigner(client: token, secret: secret, scheme: settings.scheme)
    } catch { throw .badSessionSecret }
  }

  /// Refuses a reply about another session: that session's owner can have any nonce signed, also this request's.
  func require(_ named: String?) throws(ServiceError) {
    guard name == nil || name == named else { throw .replyForAnother }
  }
}

/// A session whose phone was asked. Not approved.
public struct PendingSession: Sendable {
  public let remote: RemoteSession
  /// Two digits to show, if the service wants them typed on the phone.
  public let matchCode: String?
  /// The session's name, from the service; nil if it gave none.
  public let name: String?
  /// What proves the session's approval.
  fileprivate let evidence: ApprovalEvidence
  /// The address of the phone's page, for a phone that is not rung. It is at the service, and short enough for one
  /// line.
  public let phonePage: String?

  /// In characters. A longer address is not shown.
  private static let greatestPageLength = 120

  init(remote: RemoteSession, started: StartedSession, server: ServerURL, evidence: ApprovalEvidence) {
    self.remote = remote
    self.evidence = evidence
    name = started.name
    matchCode = started.matchCode
    // Another address could lead the user to a stranger's page.
    let page = server.isEncrypted ? started.phonePage.flatMap { try? server.ownAddress($0) } : nil
    phonePage = page.flatMap { $0.utf8.count <= Self.greatestPageLength ? $0 : nil }
  }

  /// A request without a match code that another process has started. Nil if its approval could not be verified.
  ///
  /// - Parameters:
  ///   - name: the session's name from the service at the start.
  ///   - question: the same as at the start. Otherwise the phone's signature does not match.
  ///   - challenge: the challenge of the start.
  ///   - origin: the service's origin, as the phone spells it.
  public init?(
    resuming remote: RemoteSession, name: String?, _ question: ApprovalQuestion, challenge: ApprovalChallenge?,
    origin: String
  ) {
    switch question {
    case .service: evidence = .service
    case .phone(let demand, let context):
      guard let challenge, let name, context.isWithoutCode else { return nil }
      let asked = AskedApproval(demand, challenge: challenge, code: Secret(""), context: context, origin: origin)
      evidence = .phone(ApprovalCheck(asked: asked, session: name))
    }
    self.remote = remote
    self.name = name
    matchCode = nil
    phonePage = nil
  }

  /// The challenge for the phone to sign; nil if the service's word counts.
  public var challenge: ApprovalChallenge? {
    switch evidence {
    case .service: nil
    case .phone(let check): check.asked.challenge
    }
  }
}

/// What proves an approval.
enum ApprovalEvidence: Sendable {
  /// Only the service's word.
  case service
  /// A trusted phone's signature.
  case phone(ApprovalCheck)
}

/// A session that the service confirmed: its own `status_url` replied 200 with exactly `active`. If the request
/// demanded it, a trusted phone also signed the approval.
///
/// Only ``AuthenticationClient`` makes one, so code that records an unconfirmed sign-in does not compile.
public struct ActiveSession: Sendable {
  public let remote: RemoteSession
  /// What the phone signed; nil if the service's word counts.
  public let approval: VerifiedApproval?
  /// The phone that approved, for the log: from the phone's signed approval, otherwise from the service. Nil if neither
  /// names it.
  public let phone: String?
  /// The service's position in its history when it replied; nil if it does not send one.
  public let mark: ServiceMark?

  /// - Throws: ``ServiceError/approvalNotVerified(_:)``.
  fileprivate init(confirmed pending: PendingSession, by reply: StatusReply) throws(ServiceError) {
    switch pending.evidence {
    case .service: approval = nil
    case .phone(let check):
      do { approval = try check.verified(reply.approval) } catch { throw .approvalNotVerified(error) }
    }
    phone = approval?.phone.id ?? reply.approvedBy
    remote = pending.remote
    mark = reply.mark
  }
}

/// The result of `authenticate_user`.
public enum StartAnswer: Sendable {
  case pending(PendingSession)
  /// Started, but the service did not repeat the question, so it does not support verified approvals. The caller must
  /// cancel the request.
  case notVerifiable(RemoteSession)
  /// Started with digits that this computer cannot show: the service does not support requests without digits. The
  /// caller must cancel the request.
  case wantsCode(RemoteSession)
  /// Not started, with the service's reason as received, e.g. `NO_MOBILE_DEVICE`.
  case notStarted(reason: String?)
}

/// The result of `status_url` while an approval is awaited.
public enum ApprovalAnswer: Sendable {
  case approved(ActiveSession)
  /// `pending` or `identifying`; `held` if the service waited with its reply until something changed.
  case waiting(SessionStatus, held: Bool)
  /// Any other status: there will be no approval.
  case ended(SessionStatus, reason: String?)
}

extension ApprovalAnswer {
  /// The only place that turns a reply into an approval.
  ///
  /// - Throws: ``ServiceError/badReply(_:)`` if the reply says both `active` and not authenticated, and
  ///   ``ServiceError/approvalNotVerified(_:)``.
  init(_ reply: StatusReply, for session: PendingSession, held: Bool) throws(ServiceError) {
    switch reply.status {
    case .active:
      guard reply.authenticated != false else { throw .badReply(.contradiction("authenticated")) }
      self = .approved(try ActiveSession(confirmed: session, by: reply))
    case .pending, .identifying: self = .waiting(reply.status, held: held)
    case .walkaway, .timeout, .closed, .failed, .cancelled, .unknown:
      self = .ended(reply.status, reason: reply.reason)
    }
  }
}
