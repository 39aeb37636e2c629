import DeviceProtocol
import IAMPASSProtocol

/// A stored sign-in session of the service: its lifecycle, and the client that may ask for it. It is not a session of
/// logind or PAM, which the computer opens after the approval, and not a browser's visit to the console.
struct Session: Sendable {
  /// The session's id, which is part of its addresses. It is not secret.
  let id: String
  /// The client id of its requests' signatures.
  let token: Secret
  var secret: StoredSecret
  let application: String
  /// The host credential that started it; nil for the application itself.
  let credential: String?
  /// The secret of the client that started it. The service signs its replies about this session with it.
  var replySecret: StoredSecret
  /// The boot of the computer that started it; nil if it did not say.
  let bootID: String?
  /// The address that asked for it, as in the audit; nil if it is not known.
  let address: String?
  let user: Int64?
  /// The request's source: host, service and remote host. There is one unanswered request for each user and source.
  let source: String
  let context: SignInContext
  /// What an approval must prove. Once it is answered, it is what the answering phone had to prove. If several phones
  /// are asked, it is the strongest method: see ``method(for:)``.
  var method: AuthenticationMethod
  /// The ids of the asked phones, each with what its approval must prove; nil: all phones of the user.
  let asked: [String: AuthenticationMethod]?
  /// An administrator's phone that is also asked; nil: only the user's own.
  let locum: Locum?
  /// The id of the phone that answered.
  var answeredBy: String?
  let answerNonce: String
  /// Two digits that the terminal shows and the phone asks for. They are not sent to the phone.
  let matchCode: Secret?
  /// The computer's challenge, which the phone signs; nil if the computer sent none.
  let challenge: ApprovalChallenge?
  /// See ``SessionStartRequest/idTokenNonce``.
  let idTokenNonce: String?
  /// The number of requests of its source that were not started while this one was open.
  let heldBack: Int64
  var lifecycle: SessionLifecycle
  /// The status that its client got last, and since when.
  var delivered: SessionStatus
  var deliveredAt: UnixTime

  /// Makes a new session, which is not stored yet.
  init(_ request: SessionStartRequest, _ terms: StartTerms, at now: UnixTime) throws {
    id = try request.session ?? RandomValue.identifier()
    token = Secret(try RandomValue.identifier())
    secret = .clear(try RandomValue.secret())
    application = request.signInClient.application.id
    credential = request.signInClient.credential?.id
    bootID = request.boot?.id
    replySecret = .clear(request.signInClient.secret)
    address = request.client.text
    user = terms.user
    source = request.source.text
    context = request.context
    method = terms.method
    asked = terms.asked
    locum = terms.locum
    answeredBy = nil
    answerNonce = try RandomValue.identifier()
    matchCode = terms.matchCode
    challenge = request.challenge
    idTokenNonce = request.idTokenNonce
    heldBack = 0
    lifecycle = SessionLifecycle(startedAt: now, duration: terms.duration, answerTime: terms.answerTime)
    delivered = lifecycle.status
    deliveredAt = now
  }
}

extension Session {
  /// What an approval of this phone must prove; nil if the phone is not asked.
  func method(for phone: String) -> AuthenticationMethod? { asked.map { $0[phone] } ?? method }

  /// Whether the session leaves and comes back with this phone. It does if this phone approved it, or if the user no
  /// longer has the phone that did.
  ///
  /// - Parameter live: the ids of the user's live phones.
  func follows(_ phone: String, among live: [String]) -> Bool {
    guard let answeredBy, answeredBy != phone else { return true }
    return !live.contains(answeredBy)
  }

  /// Whether this phone may answer: it belongs to the user, or to a locum.
  func isFor(_ phone: ActingPhone) -> Bool {
    (user == phone.user && locum?.phone != phone.id)
      || locum.map { $0.phone == phone.id && $0.user == phone.user } ?? false
  }

  /// The stored form of ``asked``: pairs of a phone and a method.
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

  /// Whether its client also gets the signed answer, for computers that verify approvals.
  var showsApproval: Bool { challenge != nil && lifecycle.status == .active }

  /// Whether its client gets an approval token.
  var showsToken: Bool { idTokenNonce != nil && lifecycle.status == .active }
}
