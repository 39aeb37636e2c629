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
  /// What an approval must prove; once it is answered, what was to be proven by the phone that did. If several phones are
  /// asked, it is the strongest: see ``method(for:)``.
  var method: AuthenticationMethod
  /// The phones that are asked, by their ids, each with what an approval of it must prove; nil: whichever the user has.
  let asked: [String: AuthenticationMethod]?
  /// An administrator's phone that is asked, too; nil: only the user's own.
  let locum: Locum?
  /// The id of the phone that answered.
  var answeredBy: String?
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
    id = try ask.session ?? RandomValue.identifier()
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
    asked = terms.asked
    locum = terms.locum
    answeredBy = nil
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
  /// What an approval of this phone must prove; nil if the phone is not asked.
  func method(for phone: String) -> AuthenticationMethod? { asked.map { $0[phone] } ?? method }

  /// Whether it leaves and comes back with this phone: it is the one that approved, or the user does not have that one
  /// any more.
  ///
  /// - Parameter live: the user's live phones.
  func follows(_ phone: String, among live: [Phone]) -> Bool {
    guard let answeredBy, answeredBy != phone else { return true }
    return !live.contains { $0.id == answeredBy }
  }

  /// Whether this phone may answer: it is its user's own, or a locum's.
  func isFor(_ phone: ActingPhone) -> Bool {
    (user == phone.user && locum?.phone != phone.id)
      || locum.map { $0.phone == phone.id && $0.user == phone.user } ?? false
  }

  /// As it is stored: pairs of a phone and a method.
  var askedText: String? {
    asked.map { $0.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.rawValue)" }.joined(separator: " ") }
  }

  static func asked(in text: String?) throws -> [String: AuthenticationMethod]? {
    guard let text else { return nil }
    let pairs = try text.split(separator: " ").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let method = AuthenticationMethod(rawValue: parts[1]) else {
        throw DamagedRow(column: "asked")
      }
      return (parts[0], method)
    }
    return Dictionary(pairs) { first, _ in first }
  }

  /// Whether its client is told the answer, too: for computers that verify approvals.
  var showsApproval: Bool { challenge != nil && lifecycle.status == .active }

  /// Whether its client is told an approval token.
  var showsToken: Bool { idTokenNonce != nil && lifecycle.status == .active }
}
