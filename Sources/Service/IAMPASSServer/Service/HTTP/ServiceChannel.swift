import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOSSL
import NIOTLS

/// A child channel on TLS with the protocol that its client chooses: HTTP/1.1 by Hummingbird, or HTTP/2.
///
/// Phones' pages are open for hours, each on an HTTP/2 connection. Hummingbird would keep four tasks for each, a
/// quarter of its memory. Here no task waits for the connection, and each stream is a ``StreamExchange``.
struct ServiceChannel: ServerChildChannel {
  /// The most concurrent requests on a connection. A computer with many sessions has a held request for each, on few
  /// connections.
  private static let mostStreams = 256
  /// The most streams that a client may reset within 30 seconds. More end its connection (CVE-2023-44487). Chromium
  /// resets the stream of each reply 304, even if it has ended, and the phone's page asks for thirty files. With NIO's
  /// own 200, the connection of a user who loads the page seven times would end. Each connection has memory for as many
  /// times of day from its start.
  private static let mostResets = 600

  /// The bytes of the buffer for encrypted replies that each connection keeps. It begins with 16 KiB, and replies grow it.
  private static let keptForReplies = 2_048

  private static var tlsHandling: NIOSSLHandler.Configuration {
    var configuration = NIOSSLHandler.Configuration()
    configuration.maximumPreservedOutboundBufferCapacity = keptForReplies
    return configuration
  }

  enum Negotiated: Sendable {
    case http1(HTTP1Channel.Value)
    /// HTTP/2, whose streams answer by themselves.
    case http2
  }

  struct Value: ServerChildChannelValue {
    fileprivate let negotiated: EventLoopFuture<Negotiated>
    let channel: any Channel
  }

  let tls: NIOSSLContext
  let http1: HTTP1Channel
  let streams: StreamExchange.Service
  /// How long an HTTP/2 connection may have no stream.
  let idleTime: TimeAmount

  /// - Parameter tls: the protocols that are offered are set here.
  init(
    tls: TLSConfiguration, http1: HTTP1Channel, streams: StreamExchange.Service, idleTime: TimeAmount
  ) throws {
    var tls = tls
    tls.applicationProtocols = NIOHTTP2SupportedALPNProtocols
    self.tls = try NIOSSLContext(configuration: tls)
    self.http1 = http1
    self.streams = streams
    self.idleTime = idleTime
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let negotiation = NIOTypedApplicationProtocolNegotiationHandler<Negotiated> { result in
        switch result {
        case .negotiated("h2"): channel.eventLoop.makeCompletedFuture { try setUpHTTP2(on: channel) }
        case .negotiated("http/1.1"), .fallback: http1.setup(channel: channel, logger: logger).map { .http1($0) }
        case .negotiated:
          // The service did not offer this protocol.
          channel.close().flatMap { channel.eventLoop.makeFailedFuture(NIOHTTP2Errors.invalidALPNToken()) }
        }
      }
      try channel.pipeline.syncOperations.addHandler(
        NIOSSLServerHandler(context: tls, configuration: Self.tlsHandling))
      try channel.pipeline.syncOperations.addHandler(negotiation)
      return Value(negotiated: negotiation.protocolNegotiationResult, channel: channel)
    }
  }

  func handle(value: Value, logger: Logger) async {
    guard case .http1(let channel)? = try? await value.negotiated.get() else { return }
    await http1.handle(value: channel, logger: logger)
  }

  private func setUpHTTP2(on channel: any Channel) throws -> Negotiated {
    let idle = StreamlessHandler(time: idleTime)
    let counted = NIOLoopBound(idle, eventLoop: channel.eventLoop)
    var settings = NIOHTTP2Handler.ConnectionConfiguration()
    settings.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: Self.mostStreams),
      HTTP2Setting(parameter: .maxHeaderListSize, value: HTTPServer.greatestHeaders),
    ]
    var streamSettings = NIOHTTP2Handler.StreamConfiguration()
    streamSettings.streamResetFrameRateLimit.maximumCount = Self.mostResets
    let pipeline = channel.pipeline.syncOperations
    _ = try pipeline.configureHTTP2Pipeline(
      mode: .server, connectionConfiguration: settings, streamConfiguration: streamSettings
    ) { stream in
      stream.eventLoop.makeCompletedFuture {
        try StreamExchange.begin(on: stream, of: counted.value, for: streams)
      }
    }
    try pipeline.addHandler(idle)
    return .http2
  }
}
