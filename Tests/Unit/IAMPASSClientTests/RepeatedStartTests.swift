import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// A service whose connection is lost in the first starts.
private final class LosingService: HTTPTransport {
  /// What becomes of the starts after these.
  enum Later {
    case started
    case answered(status: Int)
    case failed(TransportError.Code)
  }

  private let announced: [UInt8]?
  private let error: TransportError.Code
  private var losses: Int
  private let later: Later
  private(set) var starts: [HTTPRequest] = []
  private(set) var looks = 0

  init(
    announced: ServiceAnnouncement?, losses: Int, error: TransportError.Code = .connectionLost, later: Later = .started
  ) {
    self.announced = announced?.encoded()
    self.losses = losses
    self.error = error
    self.later = later
  }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    if request.url.hasSuffix(ServiceAnnouncement.path) {
      looks += 1
      return HTTPReply(status: announced == nil ? 404 : 200, headers: [], body: announced ?? [])
    }
    starts.append(request)
    guard losses == 0 else {
      losses -= 1
      throw TransportError(error)
    }
    switch later {
    case .started: break
    case .answered(let status): return HTTPReply(status: status, headers: [], body: [])
    case .failed(let code): throw TransportError(code)
    }
    let session = StartedSession(
      status: .pending, statusURL: "/status", logoutURL: "/logout", token: Secret("token"),
      secret: Secret("0123456789abcdef01234567"), matchCode: nil, name: "n")
    return HTTPReply(status: 202, headers: [], body: StartReply.started(session).encoded())
  }
}

@Suite struct RepeatedStartTests {
  private func newClient(of service: LosingService) throws -> AuthenticationClient {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: false)
    return try AuthenticationClient(
      settings: settings,
      credential: ServiceCredential(applicationID: "app", secret: Secret("abcdefghijklmnopqrstuvwx")),
      transport: service, unixTime: { 0 })
  }

  private func start(
    _ service: LosingService, context: SignInContext? = SignInContext(host: "h"), by known: AuthenticationClient? = nil
  ) throws {
    let client = try known ?? newClient(of: service)
    _ = try client.start(
      token: Secret("t"), .service(methods: [], context: context), durationSeconds: 60,
      deadline: MonotonicInstant.now().advanced(milliseconds: 60_000))
  }

  private static let knowing = ServiceAnnouncement(repeatedStarts: true)

  @Test(arguments: [TransportError.Code.connectionLost, .tlsRefused])
  func itIsSentAgainUnderOneNameWithAnotherNonce(_ error: TransportError.Code) throws {
    let service = LosingService(announced: Self.knowing, losses: 2, error: error)
    try start(service)
    let names = try service.starts.map { try StartRequest(parsing: $0.body).start }
    #expect(names.count == 3 && names.allSatisfy { $0 == names[0] && $0 != nil })
    let headers = service.starts.map { $0.headers.first { $0.name == Dialect.authenticationHeader }?.value }
    #expect(Set(headers).count == 3)
    let other = LosingService(announced: Self.knowing, losses: 0)
    try start(other)
    #expect(try StartRequest(parsing: other.starts[0].body).start != names[0])
    #expect(other.looks == 0)
  }

  private static var soon: MonotonicInstant { MonotonicInstant.now().advanced(milliseconds: 60_000) }

  @Test func oneWithoutAReplyIsCancelledByItsNameOnce() throws {
    let service = LosingService(announced: Self.knowing, losses: 1, error: .interrupted, later: .answered(status: 404))
    let client = try newClient(of: service)
    #expect(throws: ServiceError.transport(TransportError(.interrupted))) { try start(service, by: client) }
    let name = try #require(try StartRequest(parsing: service.starts[0].body).start)
    // A service without this route.
    #expect(throws: ServiceError.notFound) { try client.cancelUnansweredStart(deadline: Self.soon) }
    #expect(service.starts.last?.url.hasSuffix("/authentication/cancel_start/app/\(name.text)") == true)
    try client.cancelUnansweredStart(deadline: Self.soon)
    #expect(service.starts.count == 2)
  }

  @Test func oneWithAReplyOrWithoutANameIsNotCancelledByIt() throws {
    let service = LosingService(announced: Self.knowing, losses: 0)
    let answered = try newClient(of: service)
    try start(service, by: answered)
    try answered.cancelUnansweredStart(deadline: Self.soon)
    #expect(service.starts.count == 1)
    let published = LosingService(announced: Self.knowing, losses: 1, error: .interrupted)
    let unnamed = try newClient(of: published)
    #expect(throws: ServiceError.self) { try start(published, context: nil, by: unnamed) }
    try unnamed.cancelUnansweredStart(deadline: Self.soon)
    #expect(published.starts.count == 1)
  }

  @Test func afterThreeLossesItIsGivenUp() {
    let service = LosingService(announced: Self.knowing, losses: 3)
    #expect(throws: ServiceError.transport(TransportError(.connectionLost))) { try start(service) }
    #expect(service.starts.count == 3)
  }

  @Test(arguments: [nil, ServiceAnnouncement(signedReplies: true, sessionNames: true)])
  func aServiceThatDoesNotKnowAStartAgainIsAskedOnce(_ announced: ServiceAnnouncement?) {
    let service = LosingService(announced: announced, losses: 1)
    #expect(throws: ServiceError.transport(TransportError(.connectionLost))) { try start(service) }
    #expect(service.starts.count == 1)
  }

  @Test func aPublishedServiceIsToldNoName() throws {
    let service = LosingService(announced: Self.knowing, losses: 1)
    #expect(throws: ServiceError.transport(TransportError(.connectionLost))) { try start(service, context: nil) }
    #expect(service.starts.count == 1 && service.looks == 0)
    #expect(try StartRequest(parsing: service.starts[0].body).start == nil)
  }

  @Test(arguments: [TransportError.Code.silent, .connectionRefused, .certificateUntrusted])
  func afterAnotherErrorNothingIsSentAgain(_ error: TransportError.Code) {
    let service = LosingService(announced: Self.knowing, losses: 1, error: error)
    #expect(throws: ServiceError.transport(TransportError(error))) { try start(service) }
    #expect(service.starts.count == 1 && service.looks == 0)
  }
  private static let lost = ServiceError.transport(TransportError(.connectionLost))

  /// The lost start may have rung the phone. The module opens by `fail=open`, and takes the request for one that nobody
  /// saw, only after errors of another kind.
  @Test(arguments: [
    TransportError.Code.connectionRefused, .connectTimedOut, .nameNotFound, .networkUnreachable, .tlsRefused,
    .certificateUntrusted, .workerFailed,
  ])
  func anOutageOfTheRepetitionIsNotTheEndOfTheSignIn(_ code: TransportError.Code) {
    let service = LosingService(announced: Self.knowing, losses: 1, later: .failed(code))
    #expect(throws: Self.lost) { try start(service) }
    #expect(service.starts.count > 1)
  }

  @Test(arguments: [401, 403, 404, 410, 302])
  func aRefusalOfTheRepetitionIsNotTheEndOfTheSignIn(_ status: Int) {
    let service = LosingService(announced: Self.knowing, losses: 1, later: .answered(status: status))
    #expect(throws: Self.lost) { try start(service) }
    #expect(service.starts.count == 2)
  }

  @Test func anErrorByWhichThePhoneMayHaveRungIsToldAsItself() {
    let failed = LosingService(announced: Self.knowing, losses: 1, later: .answered(status: 503))
    #expect(throws: ServiceError.serverFailed(status: 503)) { try start(failed) }
    let interrupted = LosingService(announced: Self.knowing, losses: 1, later: .failed(.interrupted))
    #expect(throws: ServiceError.transport(TransportError(.interrupted))) { try start(interrupted) }
  }

  @Test func anOutageAfterAStartThatNeverArrivedIsOne() {
    let service = LosingService(
      announced: Self.knowing, losses: 1, error: .tlsRefused, later: .failed(.connectionRefused))
    #expect(throws: ServiceError.transport(TransportError(.connectionRefused))) { try start(service) }
    #expect(service.starts.count == 2)
  }
}
