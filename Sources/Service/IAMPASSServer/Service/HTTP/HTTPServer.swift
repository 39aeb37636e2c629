import HTTPTypes
import Hummingbird
import HummingbirdCore
import IAMPASSProtocol
import Logging
import NIOCore
import NIOPosix
import NIOSSL

/// The service over HTTP/1.1 and HTTP/2 on TLS.
public struct HTTPServer: Sendable {
  /// The greatest size of a request's headers in bytes.
  static let greatestHeaders = 16_384
  private static let greatestHeaderCount = 64
  /// How long a connection may be idle between requests, and how long a request's headers may take, in seconds.
  private static let idleTime: Int64 = 30
  /// The longest time from the connection to the first bytes within TLS, in seconds.
  private static let silenceTime: Int64 = 15
  /// How long a client may read nothing of its reply, in seconds.
  private static let takingTime: Int64 = 30

  private let service: SignInService
  private let listener: Listener
  private let logger: Logger
  private let requests: RequestsAtWork
  private let connections = OpenConnections(.service)

  /// - Parameter listener: which requests it takes.
  public init(service: SignInService, listener: Listener = .everything, logger: Logger) {
    self.init(service, listener, RequestsAtWork(), logger)
  }

  private init(_ service: SignInService, _ listener: Listener, _ requests: RequestsAtWork, _ logger: Logger) {
    self.service = service
    self.listener = listener
    self.requests = requests
    self.logger = logger
  }

  /// Another listener of the same service, with connections of its own: strangers who keep this one busy close none there.
  /// A drain is one for both.
  public func another(for listener: Listener) -> HTTPServer { HTTPServer(service, listener, requests, logger) }

  /// Serves until the task is cancelled.
  ///
  /// - Parameter onListening: is called with the bound port.
  public func run(
    host: String, port: Int, tls: TLSConfiguration, onListening: @escaping @Sendable (Int) -> Void
  ) async throws {
    var http1 = HTTP1Channel.Configuration(
      additionalChannelHandlers: [
        DepartureHandler(), FramingCheck(publicURL: publicURL),
        SlowReaderHandler(time: .seconds(Self.takingTime)),
      ], idleTimeout: .seconds(Self.idleTime))
    http1.httpDecoder = .init(
      maxHeaderFieldSize: Self.greatestHeaders, maxHeaderListSize: Self.greatestHeaders,
      maxHeaderFieldCount: Self.greatestHeaderCount)
    let application = Hummingbird.Application(
      responder: CallbackResponder<ConnectionContext> { request, context in await reply(to: request, context) },
      server: HTTPServerBuilder { [http1] responder in
        CountedChannel(
          base: BoundedSilence(
            base: SmallReads(
              base: try ServiceChannel(
                tls: tls, http1: HTTP1Channel(responder: responder, configuration: http1), streams: streams,
                idleTime: .seconds(Self.idleTime))),
            time: .seconds(Self.silenceTime)),
          connections: connections)
      },
      configuration: ApplicationConfiguration(address: .hostname(host, port: port), backlog: 1_024),
      onServerRunning: { channel in onListening(channel.localAddress?.port ?? port) },
      logger: frameworkLogger)
    try await application.run()
  }

  /// As this listener's clients know the service; nil: each request's own authority counts.
  private var publicURL: ServerURL? {
    if case .console(let url) = listener { url } else { service.publicURL }
  }

  /// The framework's own words about starts, connections and stops are for developers; its failures are thrown too.
  private var frameworkLogger: Logger {
    var logger = logger
    if logger.logLevel > .debug { logger.logLevel = .critical }
    return logger
  }

  /// Lets running requests finish, for at most `seconds`. Held requests are answered at once, or without a look at the
  /// storage if that takes more than half of the time.
  public func drain(seconds: Double) async {
    requests.drain()
    service.stopHolding()
    let begin = ContinuousClock.now
    await requestsEnd(by: begin.advanced(by: .seconds(seconds / 2)))
    service.giveUpHolding()
    await requestsEnd(by: begin.advanced(by: .seconds(seconds)))
    // The last replies are still being written to the sockets.
    try? await Task.sleep(for: .milliseconds(100))
  }

  private func requestsEnd(by end: ContinuousClock.Instant) async {
    while requests.count > 0, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(10)) }
  }

  /// Returns once each event loop has run a task, as each request needs it. If the service hangs, this hangs.
  ///
  /// The database is not asked. While it is out of reach, requests get 503, and a restart would not help.
  public func servesRequests() async {
    for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
      await Task(executorPreference: LoopExecutor(loop)) { _ = service.board.heldCount }.value
    }
  }

  /// The service for HTTP/2 streams.
  private var streams: StreamExchange.Service {
    StreamExchange.Service(
      requests: requests, takingTime: Self.takingTime,
      reply: { request in await respond(to: request) },
      onProof: { [connections] in connections.proven($0) })
  }

  private func respond(to request: ServiceRequest) async -> ServiceReply {
    var request = request
    request.listener = listener
    return await service.respond(to: request)
  }

  /// Answers a request of HTTP/1.1.
  private func reply(to request: Request, _ context: ConnectionContext) async -> Response {
    // A client whose held request was just answered would ask again and again at once.
    guard let presence = requests.enter() else { return Response(.stopping, context) }
    defer { _ = presence }
    let reply: ServiceReply
    switch await RequestBody.read(from: request) {
    case .failure(let refusal):
      // Further bytes on this connection are not read.
      context.channel.eventLoop.scheduleTask(in: .seconds(1)) { context.channel.close(promise: nil) }
      reply = refusal.reply.adding("Connection", "close")
      logger.debug("replied", metadata: ["method": "\(request.method.rawValue)", "status": "\(reply.status)"])
    case .success(let body):
      reply = await respond(
        to: ServiceRequest(request.head, body: body, channel: context.channel) {
          connections.proven(context.channel)
        })
    }
    return Response(reply, context, presence)
  }
}

extension ServiceReply {
  /// The reply to requests that come while the service stops.
  static var stopping: ServiceReply {
    refused(.stopping).adding("Retry-After", "2").adding("Connection", "close")
  }
}

extension ServiceRequest {
  init(
    _ head: HTTPRequest, body: [UInt8], channel: any Channel, onProof: @escaping @Sendable () -> Void
  ) {
    self.init(
      method: head.method.rawValue, target: head.path ?? "", authority: head.authority,
      headers: head.headerFields.map { ($0.name.rawName, $0.value) }, body: body,
      peer: channel.remoteAddress?.ipAddress,
      onDeparture: { action in channel.closeFuture.whenComplete { _ in action() } },
      hasLeft: { !channel.isActive }, onProof: onProof)
  }
}
