import DeviceProtocol
import IAMPASSProtocol

/// A stored sign-in session of the service: its lifecycle, and the client that may ask for it. It is not a session of
/// logind or PAM, which the computer opens after the approval, and not a browser's visit to the console.
struct Session: Sendable {
  /// Part of its addresses; not secret.
  let id: String
  /// The client id that signs for it.
  let token: Secret
  let secret: Secret
  let application: String
  /// The host credential that started it; nil: the application itself did.
  let credential: String?
  /// The service signs its replies about this session with it: of who started it.
  let replySecret: Secret
  /// The boot of the computer that started it; nil where that did not tell.
  let bootID: String?
  /// Who asked for it, as far as the audit goes; nil where that is not known.
  let address: String?
  let user: Int64?
  /// Where it comes from: host, service and remote host. One unanswered request a user and source.
  let source: String
  let context: SignInContext
  /// What an approval must prove.
  let method: AuthenticationMethod
  let answerNonce: String
  /// Two digits that the terminal shows and the phone asks for; the phone is never told them.
  let matchCode: Secret?
  /// The computer's, which the phone signs; nil if the computer sent none.
  let challenge: ApprovalChallenge?
  /// See ``StartAsk/idTokenNonce``.
  let idTokenNonce: String?
  /// Further requests of its source that were not started while this one was open.
  let heldBack: Int64
  var lifecycle: SessionLifecycle
  /// What its client was told last, and since when.
  var delivered: SessionStatus
  var deliveredAt: UnixTime

  /// A new session, not yet stored.
  init(_ ask: StartAsk, _ terms: StartTerms, at now: UnixTime) throws {
    id = try RandomValue.identifier()
    token = Secret(try RandomValue.identifier())
    secret = try RandomValue.secret()
    application = ask.starter.application.id
    credential = ask.starter.credential?.id
    bootID = ask.boot?.id
    replySecret = ask.starter.secret
    address = ask.client.text
    user = terms.user
    source = ask.source.text
    context = ask.context
    method = terms.method
    answerNonce = try RandomValue.identifier()
    matchCode = terms.matchCode
    challenge = ask.challenge
    idTokenNonce = ask.idTokenNonce
    heldBack = 0
    lifecycle = SessionLifecycle(startedAt: now, duration: terms.duration, answerTime: terms.answerTime)
    delivered = lifecycle.status
    deliveredAt = now
  }
}

extension Session {
  /// Whether its client is told the answer, too: for computers that verify approvals.
  var showsApproval: Bool { challenge != nil && lifecycle.status == .active }

  /// Whether its client is told an approval token.
  var showsToken: Bool { idTokenNonce != nil && lifecycle.status == .active }
}
