import IAMPASSProtocol

/// A client's request to `/bc-authorize` (CIBA Core 1.0 §7.1).
struct BackchannelRequest: Sendable {
  /// The greatest length of a binding message, in characters: phones show all of it.
  static let greatestMessage = 200
  /// The binding message's name on phones.
  static let messageName = "message"
  /// How long an approval lasts if it is not collected, in seconds. It does not keep a user signed in.
  static let duration: Int64 = 60

  /// The user's id at the application.
  let user: String
  /// The message on the phone; nil: it shows only the client.
  let message: String?
  /// How long the request waits for its answer, in seconds; nil: the application's setting.
  let answerTime: Int64?
  /// Whether the client shows the digits in the reply. This is the service's own parameter: CIBA has no such digits.
  let showsCode: Bool

  init(_ form: OpenIDForm) throws(OpenIDError) {
    for name in ["request", "login_hint_token", "id_token_hint"] where form.value(name) != nil {
      throw OpenIDError(.invalidRequest, "\(name) is not supported; name the user by login_hint")
    }
    guard form.value("scope")?.split(separator: " ").contains("openid") == true else {
      throw OpenIDError(.invalidScope, "the scope must have openid")
    }
    guard let user = form.value("login_hint") else {
      throw OpenIDError(.invalidRequest, "send the user's id as login_hint")
    }
    self.user = user
    message = try form.value("binding_message").map(Self.fit)
    answerTime = try form.value("requested_expiry").map(Self.answerTime)
    let code = form.value("match_code")
    guard code == nil || code == "1" else { throw OpenIDError(.invalidRequest, "match_code takes 1, or is left out") }
    showsCode = code != nil
  }

  /// The start for the verified client.
  func start(by client: SignInClient, from sender: ClientAddress) throws(OpenIDError) -> SessionStartRequest {
    let context = SignInContext(
      host: client.credential?.host, further: message.map { [.init(name: Self.messageName, value: $0)] } ?? [])
    guard context.isWithinBounds else { throw Self.misfit }
    return SessionStartRequest(
      user: user, signInClient: client, client: sender, methods: AuthenticationMethod.allCases, duration: Self.duration,
      context: context, hasContext: showsCode, challenge: nil, matchCode: nil, boot: nil, idTokenNonce: "",
      answerTime: answerTime)
  }

  private static let misfit = OpenIDError(
    .invalidBindingMessage, "send at most \(greatestMessage) characters, none of which is invisible")

  private static func fit(_ message: String) throws(OpenIDError) -> String {
    // Characters that a phone would have to escape, such as invisible ones, may mislead.
    guard message.count <= greatestMessage, DisplayText.sanitized(message) == message else { throw misfit }
    return message
  }

  /// The requested time, without the time to collect the answer.
  private static func answerTime(_ text: String) throws(OpenIDError) -> Int64 {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text), seconds > 0 else {
      throw OpenIDError(.invalidRequest, "requested_expiry takes a whole number of seconds above 0")
    }
    return max(seconds - SessionLifecycle.collectionTime, ApplicationSettings.answerTimes.lowerBound)
  }
}
