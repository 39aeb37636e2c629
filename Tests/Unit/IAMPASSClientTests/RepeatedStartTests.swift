import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// A service whose connection is lost in the first starts.
private final class LosingService: HTTPTransport {
  private let announced: [UInt8]?
  private let error: TransportError.Code
  private var losses: Int
  private(set) var starts: [HTTPRequest] = []
  private(set) var looks = 0

  init(announced: ServiceAnnouncement?, losses: Int, error: TransportError.Code = .connectionLost) {
    self.announced = announced?.encoded()
    self.losses = losses
    self.error = error
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
    let session = StartedSession(
      status: .pending, statusURL: "/status", logoutURL: "/logout", token: Secret("token"),
      secret: Secret("0123456789abcdef01234567"), matchCode: nil, name: "n")
    return HTTPReply(status: 202, headers: [], body: StartReply.started(session).encoded())
  }
}

@Suite struct RepeatedStartTests {
  private func start(_ service: LosingService, context: SignInContext? = SignInContext(host: "h")) throws {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: false)
    let client = try AuthenticationClient(
      settings: settings,
      credential: ServiceCredential(applicationID: "app", secret: Secret("abcdefghijklmnopqrstuvwx")),
      transport: service, unixTime: { 0 })
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
}
