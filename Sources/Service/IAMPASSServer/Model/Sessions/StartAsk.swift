import IAMPASSProtocol

/// What a computer asks for when it starts a sign-in session, as read from its request.
struct StartAsk: Sendable {
  let user: String
  let starter: Starter
  let client: ClientAddress
  /// Any of these will do.
  let methods: [AuthenticationMethod]
  /// The greatest length of the session, in seconds.
  let duration: Int64
  /// What the phone shows.
  let context: SignInContext
  /// Whether the computer sent a context. A computer that sends none does not know match codes, and would not show one.
  let hasContext: Bool
  /// What the phone is to sign with the context; nil: the computer believes the service.
  let challenge: ApprovalChallenge?
  /// Drawn by the computer; nil: the service may draw one.
  let matchCode: Secret?
  /// The boot of the computer, if it is signed.
  let boot: SignedBoot?
  /// The computer wants an approval token: with this nonce, or empty without one. Nil: it wants none.
  var idTokenNonce: String?
  /// Seconds that the request waits for its answer; nil, or if the application's are fewer: as long as its settings say.
  var answerTime: Int64?
  /// The computer's name for this start, if it is signed.
  var name: StartName?

  /// The id that its session has: if there is one already, this start was taken before. Nil: any that is new.
  var session: String? { name?.session(of: starter.credential?.id ?? starter.application.id) }

  var source: RequestSource { RequestSource(of: context, from: client, credential: starter.credential?.id) }
}
