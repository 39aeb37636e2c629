import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL

/// The service over HTTP/1.1 and HTTP/2 on TLS.
public struct HTTPServer: Sendable {
  /// Bytes of all headers of a request.
  private static let greatestHeaders = 16_384
  private static let greatestHeaderCount = 64
  /// Seconds a connection may be idle between requests, and that a request's headers may take.
  private static let idleTime: Int64 = 30
  /// Seconds from the connection to the first bytes within TLS.
  private static let silenceTime: Int64 = 15
  /// Seconds more that an idle client of HTTP/2 has to answer the farewell.
  private static let farewellTime: Int64 = 5
  /// Seconds in which a client must take something of its reply.
  private static let takingTime: Int64 = 30

  private let service: SignInService
  private let logger: Logger
  private let requests = RequestsAtWork()
  private let connections = OpenConnections(.service)

  public init(service: SignInService, logger: Logger) {
    self.service = service
    self.logger = logger
  }

  /// Serves until the task is cancelled.
  ///
  /// - Parameter onListening: gets the bound port.
  public func run(
    host: String, port: Int, tls: TLSConfiguration, onListening: @escaping @Sendable (Int) -> Void
  ) async throws {
    var stream = HTTP1Channel.Configuration(
      additionalChannelHandlers: [
        DepartureHandler(), FramingCheck(publicURL: service.publicURL), StreamHandler(),
        SlowReaderHandler(time: .seconds(Self.takingTime)),
      ], idleTimeout: .seconds(Self.idleTime))
    stream.httpDecoder = .init(
      maxHeaderFieldSize: Self.greatestHeaders, maxHeaderListSize: Self.greatestHeaders,
      maxHeaderFieldCount: Self.greatestHeaderCount)
    let configuration = HTTP2ChannelConfiguration(idleTimeout: .seconds(Self.idleTime), streamConfiguration: stream)
    let application = Hummingbird.Application(
      responder: CallbackResponder<ConnectionContext> { request, context in await reply(to: request, context) },
      server: HTTPServerBuilder { responder in
        CountedChannel(
          base: BoundedSilence(
            base: SmallReads(
              base: try HTTP2UpgradeChannel(
                tlsConfiguration: tls, configuration: configuration, responder: responder)),
            time: .seconds(Self.silenceTime), streamlessTime: .seconds(Self.idleTime + Self.farewellTime)),
          connections: connections)
      },
      configuration: ApplicationConfiguration(address: .hostname(host, port: port), backlog: 1_024),
      onServerRunning: { channel in onListening(channel.localAddress?.port ?? port) },
      logger: frameworkLogger)
    try await application.run()
  }

  /// The framework's own words about starts, connections and stops are for developers; its failures are thrown too.
  private var frameworkLogger: Logger {
    var logger = logger
    if logger.logLevel > .debug { logger.logLevel = .critical }
    return logger
  }

  /// Lets the requests at work finish, held ones at once; `seconds` at most.
  public func drain(seconds: Double) async {
    requests.drain()
    service.stopHolding()
    let end = ContinuousClock.now.advanced(by: .seconds(seconds))
    while requests.count > 0, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(10)) }
    // The last replies are on their way to the sockets.
    try? await Task.sleep(for: .milliseconds(100))
  }

  private func reply(to request: Request, _ context: ConnectionContext) async -> Response {
    // A client whose held request was just answered would ask again at once, and again.
    guard let presence = requests.enter() else {
      let reply = ServiceReply.refused(503, .stopping).adding("Retry-After", "2").adding("Connection", "close")
      return Response(reply, context)
    }
    defer { _ = presence }
    let reply: ServiceReply
    switch await RequestBody.read(from: request, isHTTP2: context.isHTTP2) {
    case .failure(let refusal):
      // What still comes on this connection is not worth reading.
      context.channel.eventLoop.scheduleTask(in: .seconds(1)) { context.channel.close(promise: nil) }
      reply = refusal.reply.adding("Connection", "close")
    case .success(let body):
      reply = await service.respond(
        to: ServiceRequest(request, body: body, channel: context.channel) {
          connections.proven(context.channel.connection)
        })
    }
    logger.debug("replied", metadata: ["method": "\(request.method.rawValue)", "status": "\(reply.status)"])
    return Response(reply, context, presence)
  }
}

extension ServiceRequest {
  fileprivate init(
    _ request: Request, body: [UInt8], channel: any Channel, onProof: @escaping @Sendable () -> Void
  ) {
    self.init(
      method: request.method.rawValue, target: request.head.path ?? "", authority: request.head.authority,
      headers: request.headers.map { ($0.name.rawName, $0.value) }, body: body,
      peer: channel.remoteAddress?.ipAddress,
      onDeparture: { action in channel.closeFuture.whenComplete { _ in action() } }, onProof: onProof)
  }
}
