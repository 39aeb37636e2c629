import IAMPASSProtocol

/// A session at the service whose addresses are known to be the service's own, and whose secret can sign.
public struct RemoteSession: Sendable {
  public let statusURL: String
  public let logoutURL: String
  public let token: Secret
  public let secret: Secret
  /// What the service's replies about this session call it. Nil if the service gave no name at the start, and if
  /// replies are not signed: then anybody could write the name.
  public let name: String?
  /// The same name, signed or not, if it can stand in a log line: under it the session is found at the service. It
  /// decides nothing.
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
    // The token stands in a header: nothing that could end it, or be another client's id, is taken.
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

  /// Refuses what was said of another session: its owner can have any nonce signed there, this request's too.
  func require(_ named: String?) throws(ServiceError) {
    guard name == nil || name == named else { throw .replyForAnother }
  }
}

/// A session whose phone was asked. Not approved.
public struct PendingSession: Sendable {
  public let remote: RemoteSession
  /// Two digits to show, if the service wants them typed on the phone.
  public let matchCode: String?
  /// The session's name, as the service gave it; nil if it gave none.
  public let name: String?
  /// What makes it an approved one.
  fileprivate let evidence: ApprovalEvidence
  /// The address of the phone's page, for a phone that nothing rings: at the service, and short enough for a line.
  public let phonePage: String?

  /// Characters; a longer address is not shown.
  private static let greatestPageLength = 120

  init(remote: RemoteSession, started: StartedSession, server: ServerURL, evidence: ApprovalEvidence) {
    self.remote = remote
    self.evidence = evidence
    name = started.name
    matchCode = started.matchCode
    // An address elsewhere would have the user sign in to a stranger's page.
    let page = server.isEncrypted ? started.phonePage.flatMap { try? server.ownAddress($0) } : nil
    phonePage = page.flatMap { $0.utf8.count <= Self.greatestPageLength ? $0 : nil }
  }

  /// A request without a match code that another process has started. Nil if its approval could not be verified.
  ///
  /// - Parameters:
  ///   - name: of the session, as the service gave it then.
  ///   - question: the same as at the start, or the phone's signature will not fit.
  ///   - challenge: of the start.
  ///   - origin: the service's, as the phone spells it.
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

  /// What the phone is to sign; nil if the service is believed.
  public var challenge: ApprovalChallenge? {
    switch evidence {
    case .service: nil
    case .phone(let check): check.asked.challenge
    }
  }
}

/// What an approval of a session must show.
enum ApprovalEvidence: Sendable {
  /// Nothing more than the service's word.
  case service
  /// What a trusted phone signed.
  case phone(ApprovalCheck)
}

/// A session that the service confirmed by 200 from its own `status_url` with exactly `active`; and, if the request
/// demanded it, by an approval that a trusted phone signed.
///
/// Only ``AuthenticationClient`` makes one, so that recording an unconfirmed sign-in does not compile.
public struct ActiveSession: Sendable {
  public let remote: RemoteSession
  /// What the phone signed; nil if the service is believed.
  public let approval: VerifiedApproval?
  /// The phone that approved, for the log: what a phone signed, otherwise what the service says. Nil if neither does.
  public let phone: String?
  /// Where the service stood in its history when it said so; nil if it does not tell.
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

/// What `authenticate_user` answered.
public enum StartAnswer: Sendable {
  case pending(PendingSession)
  /// Started, but the service did not repeat what was asked: it knows no verified approvals. Whoever gets this cancels
  /// the request.
  case notVerifiable(RemoteSession)
  /// Started with digits, although this computer can show none: the service knows no requests without. Whoever gets this
  /// cancels the request.
  case wantsCode(RemoteSession)
  /// Not started, with the service's reason as received, e.g. `NO_MOBILE_DEVICE`.
  case notStarted(reason: String?)
}

/// What `status_url` answered while an approval is awaited.
public enum ApprovalAnswer: Sendable {
  case approved(ActiveSession)
  /// `pending` or `identifying`; `held` if the service waited with its reply until something changed.
  case waiting(SessionStatus, held: Bool)
  /// Any other status: there will be no approval.
  case ended(SessionStatus, reason: String?)
}

extension ApprovalAnswer {
  /// No other place turns a reply into an approval.
  ///
  /// - Throws: ``ServiceError/badReply(_:)`` if the reply says `active` and not authenticated at once, and
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
