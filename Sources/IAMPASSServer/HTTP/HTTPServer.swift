import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// Why the service does not begin.
public struct ServerError: Error, Sendable {
  public enum Code: Sendable {
    case certificateUnreadable
    case keyUnreadable
    /// The key is not the certificate's, or TLS does not take them.
    case certificateRefused
  }

  public let code: Code
  /// The file.
  public let subject: String
  /// What the system or the TLS library said.
  public let detail: String

  public init(code: Code, subject: String, detail: String) {
    self.code = code
    self.subject = subject
    self.detail = detail
  }
}

/// The service over HTTP/1.1 and HTTP/2 on TLS.
public struct HTTPServer: Sendable {
  /// Bytes; replies and requests of the service are far smaller.
  static let greatestBody = 65_536
  /// Bytes of all headers of a request.
  private static let greatestHeaders = 16_384
  private static let greatestHeaderCount = 64
  /// Seconds that a whole body may take.
  private static let bodyTime: Int64 = 10
  /// Seconds a connection may be idle between requests, and that a request's headers may take.
  private static let idleTime: Int64 = 30
  /// Seconds from the connection to the first bytes within TLS.
  private static let silenceTime: Int64 = 15
  /// Seconds more that an idle client of HTTP/2 has to answer the farewell.
  private static let farewellTime: Int64 = 5
  /// Seconds in which a client must take something of its reply.
  private static let takingTime: Int64 = 30

  private let service: Service
  private let logger: Logger
  private let inFlight = InFlight()
  private let connections = OpenConnections(.service)

  public init(service: Service, logger: Logger) {
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
            base: try HTTP2UpgradeChannel(tlsConfiguration: tls, configuration: configuration, responder: responder),
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
    inFlight.drain()
    service.stopHolding()
    let end = ContinuousClock.now.advanced(by: .seconds(seconds))
    while inFlight.count > 0, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(10)) }
    // The last replies are on their way to the sockets.
    try? await Task.sleep(for: .milliseconds(100))
  }

  private func reply(to request: Request, _ context: ConnectionContext) async -> Response {
    // Whose held request was just answered would ask again at once, and again.
    guard let presence = inFlight.enter() else {
      let reply = ServiceReply.refused(503, .stopping).adding("Retry-After", "2").adding("Connection", "close")
      return Response(reply, context)
    }
    defer { _ = presence }
    let reply: ServiceReply
    switch await body(of: request) {
    case .failure(let problem):
      // What still comes on this connection is not worth reading.
      context.channel.eventLoop.scheduleTask(in: .seconds(1)) { context.channel.close(promise: nil) }
      reply = problem.reply.adding("Connection", "close")
    case .success(let body):
      reply = await service.respond(
        to: ServiceRequest(request, body: body, channel: context.channel) {
          connections.proven(context.channel.connection)
        })
    }
    logger.debug("replied", metadata: ["method": "\(request.method.rawValue)", "status": "\(reply.status)"])
    return Response(reply, context, presence)
  }

  private struct BodyProblem: Error {
    let reply: ServiceReply
    static let tooLarge = BodyProblem(reply: .refused(413, .bodyTooLarge))
    static let tooSlow = BodyProblem(reply: .refused(408, .requestTooSlow))
    static let broken = BodyProblem(reply: .refused(400, .badRequest))
  }

  private func body(of request: Request) async -> Result<[UInt8], BodyProblem> {
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > Self.greatestBody {
      return .failure(.tooLarge)
    }
    return await withTaskGroup(of: Result<[UInt8], BodyProblem>?.self) { group in
      group.addTask {
        do {
          let buffer = try await request.body.collect(upTo: Self.greatestBody)
          return .success(Array(buffer.readableBytesView))
        } catch is NIOTooManyBytesError {
          return .failure(.tooLarge)
        } catch let error as HTTPError where error.status == .contentTooLarge {
          return .failure(.tooLarge)
        } catch {
          return .failure(.broken)
        }
      }
      group.addTask {
        try? await Task.sleep(for: .seconds(Self.bodyTime))
        return .failure(.tooSlow)
      }
      defer { group.cancelAll() }
      return await group.next().flatMap { $0 } ?? .failure(.broken)
    }
  }
}

/// How many requests are at work.
private final class InFlight: Sendable {
  private struct State {
    var count = 0
    var isDraining = false
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.count } }

  /// One request's place; left when it is dropped.
  final class Presence: Sendable {
    private let owner: InFlight

    init(in owner: InFlight) { self.owner = owner }
    deinit { owner.state.withLock { $0.count -= 1 } }
  }

  /// Nil once the service stops.
  func enter() -> Presence? {
    state.withLock { state in
      guard !state.isDraining else { return nil }
      state.count += 1
      return Presence(in: self)
    }
  }

  func drain() { state.withLock { $0.isDraining = true } }
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

extension Response {
  /// - Parameter presence: kept until the last byte of a stream was written.
  fileprivate init(_ reply: ServiceReply, _ context: ConnectionContext, _ presence: InFlight.Presence? = nil) {
    var headers = HTTPFields()
    // HTTP/2 has no connection header (RFC 9113 §8.2.2).
    for (name, value) in reply.headers where !(context.isHTTP2 && name == "Connection") {
      if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
    }
    let body = reply.events.map { ResponseBody(events: $0, channel: context.channel, presence) }
    self.init(
      status: .init(code: reply.status), headers: headers,
      body: body ?? ResponseBody(byteBuffer: ByteBuffer(bytes: reply.body)))
  }
}

extension ResponseBody {
  /// Seconds that a client may take for one piece of a stream.
  private static let pieceTime: Int64 = 30

  fileprivate init(events: any EventSource, channel: any Channel, _ presence: InFlight.Presence?) {
    self.init { writer in
      defer { _ = presence }
      while let piece = await events.next() {
        // Who takes nothing would hold its connection, and what is for it, for ever.
        let end = channel.eventLoop.scheduleTask(in: .seconds(Self.pieceTime)) { channel.close(promise: nil) }
        defer { end.cancel() }
        try await writer.write(ByteBuffer(bytes: piece))
      }
      try await writer.finish(nil)
    }
  }
}
