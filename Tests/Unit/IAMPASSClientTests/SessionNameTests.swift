import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// A service with correct signatures, about any session.
private final class SigningService: HTTPTransport {
  static let credential = ServiceCredential(applicationID: "app", secret: Secret("abcdefghijklmnopqrstuvwx"))

  /// The names in replies: of the started session, and of the session in a status reply.
  private let started: String?
  private let told: String?
  private(set) var asked: [HTTPRequest] = []

  init(started: String?, told: String?) {
    self.started = started
    self.told = told
  }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    asked.append(request)
    return Self.signed(answer(to: request), to: request)
  }

  private func answer(to request: HTTPRequest) -> (status: Int, body: [UInt8]) {
    switch request.url {
    case "https://h/status":
      (200, StatusReply(status: .active, authenticated: true, reason: nil, session: told).encoded())
    case "https://h/logout": (200, AcknowledgementReply(done: true, session: told).encoded())
    default:
      (
        202,
        StartReply.started(
          StartedSession(
            status: .pending, statusURL: "/status", logoutURL: "/logout", token: Secret("token"),
            secret: Secret("0123456789abcdef01234567"), matchCode: nil, name: started)
        ).encoded()
      )
    }
  }

  static func signed(_ answer: (status: Int, body: [UInt8]), to request: HTTPRequest) -> HTTPReply {
    let header = request.headers.first { $0.name == Dialect.authenticationHeader }?.value
    let nonce = header.flatMap { UnverifiedAuthentication(header: $0) }?.nonce ?? ""
    let signature = ReplySignature.signature(
      secret: credential.secret, nonce: nonce, status: answer.status, body: answer.body)
    return HTTPReply(status: answer.status, headers: [(ReplySignature.header, signature)], body: answer.body)
  }
}

@Suite struct SessionNameTests {
  private static let settings = ServiceSettings(
    server: try! ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: true)
  private let deadline = MonotonicInstant.now().advanced(milliseconds: 60_000)

  private func client(_ service: SigningService) throws -> AuthenticationClient {
    try AuthenticationClient(
      settings: Self.settings, credential: SigningService.credential, transport: service, unixTime: { 0 })
  }

  private func pending(_ service: SigningService, context: SignInContext? = nil) throws -> PendingSession {
    let answer = try client(service).start(
      token: Secret("t"), .service(methods: [], context: context), durationSeconds: 60, deadline: deadline)
    guard case .pending(let session) = answer else { throw ServiceError.notFound }
    return session
  }

  @Test(arguments: ["theirs", nil])
  func aSignedReplyAboutAnotherSessionNeitherApprovesNorEnds(_ told: String?) throws {
    let service = SigningService(started: "mine", told: told)
    let session = try pending(service)
    #expect(throws: ServiceError.replyForAnother) {
      try client(service).approval(of: session, waitSeconds: nil, deadline: deadline)
    }
    #expect(throws: ServiceError.replyForAnother) { try client(service).end(session.remote, deadline: deadline) }
  }

  @Test(arguments: [("mine", "mine"), (nil, nil), (nil, "mine")] as [(String?, String?)])
  func theSessionsOwnReplyIsTaken(_ names: (String?, String?)) throws {
    let service = SigningService(started: names.0, told: names.1)
    let session = try pending(service)
    guard case .approved = try client(service).approval(of: session, waitSeconds: nil, deadline: deadline) else {
      Issue.record("not approved")
      return
    }
    try client(service).end(session.remote, deadline: deadline)
  }

  @Test func aWatchedSessionIsNotJudgedByAnothersReply() throws {
    let seal = RequestSeal(settings: Self.settings, credential: SigningService.credential, unixTime: { 0 })
    let inquiry = SessionInquiry(seal: seal)
    let session = try pending(SigningService(started: "mine", told: nil)).remote
    for (told, isTaken) in [("mine", true), ("theirs", false), (nil, false)] {
      let closed = StatusReply(status: .closed, authenticated: false, reason: nil, session: told).encoded()
      let question = try inquiry.status(of: session, waitSeconds: nil)
      let ended = try inquiry.end(session)
      let done = AcknowledgementReply(done: true, session: told).encoded()
      if isTaken {
        #expect(
          try inquiry.answer(SigningService.signed((200, closed), to: question.request), to: question)
            == .status(.closed, held: false))
        try inquiry.confirmEnd(SigningService.signed((200, done), to: ended.request), to: ended)
      } else {
        #expect(throws: ServiceError.replyForAnother) {
          try inquiry.answer(SigningService.signed((200, closed), to: question.request), to: question)
        }
        #expect(throws: ServiceError.replyForAnother) {
          try inquiry.confirmEnd(SigningService.signed((200, done), to: ended.request), to: ended)
        }
      }
    }
  }

  @Test func whatThePhoneWillShowIsInTheSignedAddress() throws {
    let service = SigningService(started: nil, told: nil)
    _ = try pending(service, context: SignInContext(host: "web-1"))
    let request = try #require(service.asked.first)
    #expect(request.url.hasSuffix("&body_sha256=" + BodyDigest.value(of: request.body)))
    // The missing context is signed too. A service without signed replies receives only what the contract contains.
    let silent = SigningService(started: nil, told: nil)
    _ = try pending(silent)
    let unseen = try #require(silent.asked.first)
    #expect(unseen.url.hasSuffix("&body_sha256=" + BodyDigest.value(of: unseen.body)))
    let plain = SigningService(started: "mine", told: "theirs")
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: false)
    let client = try AuthenticationClient(
      settings: settings, credential: SigningService.credential, transport: plain, unixTime: { 0 })
    let answer = try client.start(
      token: Secret("t"), .service(methods: [], context: nil), durationSeconds: 60, deadline: deadline)
    #expect(plain.asked.first?.url == "https://h/authentication/authenticate_user/app/t?duration_seconds=60")
    guard case .pending(let session) = answer,
      case .approved = try client.approval(of: session, waitSeconds: nil, deadline: deadline)
    else {
      Issue.record("names count only where replies are signed")
      return
    }
  }
}
