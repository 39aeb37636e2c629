import IAMPASSProtocol

/// What a computer asks for when it starts a sign-in session, as read from its request.
struct SessionStartRequest: Sendable {
  let user: String
  let signInClient: SignInClient
  let client: ClientAddress
  /// The accepted methods. One of them is enough.
  let methods: [AuthenticationMethod]
  /// The longest time of the session, in seconds.
  let duration: Int64
  /// The context that the phone shows.
  let context: SignInContext
  /// Whether the computer sent a context. A computer without a context does not know match codes, and would not show
  /// one.
  let hasContext: Bool
  /// The challenge that the phone signs with the context; nil: the computer trusts the service.
  let challenge: ApprovalChallenge?
  /// The match code that the computer chose; nil: the service may choose one.
  let matchCode: Secret?
  /// The boot of the computer, if it is signed.
  let boot: SignedBoot?
  /// The nonce for an approval token, empty for a token without a nonce; nil: the computer does not want a token.
  var idTokenNonce: String?
  /// How long the request waits for its answer, in seconds. If it is nil, or more than the application's setting, the
  /// setting counts.
  var answerTime: Int64?
  /// The computer's name for this start, if it is signed.
  var name: StartName?

  /// The id for its session. If that session exists, this start was already taken. Nil: any new id.
  var session: String? { name?.session(of: signInClient.credential?.id ?? signInClient.application.id) }

  var source: RequestSource { RequestSource(of: context, from: client, credential: signInClient.credential?.id) }
}
