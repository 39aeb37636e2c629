import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// A service with one reply for every request, signed or unsigned.
private final class MarkedService: HTTPTransport {
  static let credential = ServiceCredential(applicationID: "app", secret: Secret("abcdefghijklmnopqrstuvwx"))

  private let mark: ServiceMark?
  private(set) var asked: [HTTPRequest] = []

  init(mark: ServiceMark?) { self.mark = mark }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    asked.append(request)
    let session = StartedSession(
      status: .pending, statusURL: "/status", logoutURL: "/logout", token: Secret("token"),
      secret: Secret("0123456789abcdef01234567"), matchCode: nil)
    return request.url.contains("/authenticate_user/")
      ? Self.reply(202, StartReply.started(session).encoded(), to: request) : status(of: .active, to: request)
  }

  func status(of status: SessionStatus, to request: HTTPRequest, isSigned: Bool = true) -> HTTPReply {
    let body = StatusReply(status: status, authenticated: nil, reason: nil).encoded()
    return Self.reply(200, mark?.added(to: body) ?? body, to: request, isSigned: isSigned)
  }

  static func reply(_ status: Int, _ body: [UInt8], to request: HTTPRequest, isSigned: Bool = true) -> HTTPReply {
    let header = request.headers.first { $0.name == Dialect.authenticationHeader }?.value
    let nonce = header.flatMap { UnverifiedAuthentication(header: $0) }?.nonce ?? ""
    let signature = ReplySignature.signature(secret: credential.secret, nonce: nonce, status: status, body: body)
    return HTTPReply(status: status, headers: isSigned ? [(ReplySignature.header, signature)] : [], body: body)
  }
}

@Suite struct ServiceMarkTests {
  private let settings = ServiceSettings(
    server: try! ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: true)
  private let deadline = MonotonicInstant.now().advanced(milliseconds: 60_000)

  private func approved(by service: MarkedService, bootID: String? = nil) throws -> ActiveSession {
    let client = try AuthenticationClient(
      settings: settings, credential: MarkedService.credential, transport: service, bootID: bootID, unixTime: { 0 })
    let answer = try client.start(
      token: Secret("t"), .service(methods: [], context: nil), durationSeconds: 60, deadline: deadline)
    guard case .pending(let pending) = answer,
      case .approved(let session) = try client.approval(of: pending, waitSeconds: nil, deadline: deadline)
    else { throw ServiceError.notFound }
    return session
  }

  private var inquiry: SessionInquiry {
    SessionInquiry(seal: RequestSeal(settings: settings, credential: MarkedService.credential, unixTime: { 0 }))
  }

  @Test(arguments: [ServiceMark(epoch: 1_800_000_000, counter: 41), nil])
  func anApprovalSaysWhereTheServiceStood(_ mark: ServiceMark?) throws {
    #expect(try approved(by: MarkedService(mark: mark)).mark == mark)
  }

  @Test func aReplyAboutASessionHasAMark() throws {
    let mark = ServiceMark(epoch: 3, counter: 7)
    let service = MarkedService(mark: mark)
    let session = try approved(by: service).remote
    let question = try inquiry.status(of: session, waitSeconds: nil)
    let reply = service.status(of: .closed, to: question.request)
    #expect(try inquiry.mark(reply, to: question) == mark)
    #expect(try inquiry.answer(reply, to: question) == .status(.closed, held: false))
  }

  @Test func aMarkThatIsNotSignedIsNotBelieved() throws {
    let service = MarkedService(mark: ServiceMark(epoch: 3, counter: 7))
    let question = try inquiry.mark()
    #expect(question.request.url == "https://h/authentication/service_mark/app")
    #expect(throws: ServiceError.replyNotSigned) {
      try inquiry.mark(service.status(of: .closed, to: question.request, isSigned: false), to: question)
    }
    #expect(throws: ServiceError.notFound) {
      let refusal = AcknowledgementReply(done: false, reason: "UNKNOWN_APPLICATION").encoded()
      return try inquiry.mark(MarkedService.reply(404, refusal, to: question.request), to: question)
    }
  }

  @Test func theStartSaysWhichBootItIsWithinTheSignedDigest() throws {
    let service = MarkedService(mark: nil)
    _ = try approved(by: service, bootID: "b1")
    let start = try #require(service.asked.first)
    #expect(try StartRequest(parsing: start.body).bootID == "b1")
    #expect(start.url.hasSuffix("&body_sha256=" + BodyDigest.value(of: start.body)))
  }

  @Test func aServiceThatAnnouncedNothingIsNotToldTheBoot() throws {
    let service = MarkedService(mark: nil)
    let plain = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: false)
    let client = try AuthenticationClient(
      settings: plain, credential: MarkedService.credential, transport: service, bootID: "b1", unixTime: { 0 })
    _ = try client.start(
      token: Secret("t"), .service(methods: [], context: nil), durationSeconds: 60, deadline: deadline)
    #expect(service.asked.first?.body == Array("{}".utf8))
  }
}
