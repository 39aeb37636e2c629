import IAMPASSProtocol
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// The server of a request over HTTP/2, and its sender.
struct HTTP2Endpoint: Sendable, Hashable {
  let host: String
  let port: Int
  /// The sender's key. APNs accepts only one team, or one certificate, on a connection.
  let sender: String

  var origin: String { "https://\(host)" + (port == PushSubscription.standardPort ? "" : ":\(port)") }
}

/// A reply with its body.
struct HTTP2Reply: Sendable {
  let push: PushReply
  let body: [UInt8]

  var status: Int { push.status }
  var json: JSON? { try? JSON(parsing: body) }
}

/// Sends requests over HTTP/2. Each exchange is bounded in time.
protocol HTTP2Posting: Sendable {
  /// - Parameter tls: makes the context of a new connection.
  func post(
    _ body: [UInt8], to path: String, at endpoint: HTTP2Endpoint, headers: HTTPHeaders,
    tls: @Sendable () throws -> NIOSSLContext
  ) async throws -> HTTP2Reply
}

/// Sends requests over HTTP/2, on connections that are kept open: Apple takes frequent connecting for an attack.
final class HTTP2Client: HTTP2Posting {
  /// The longest time for TLS's handshake, in seconds.
  private static let handshakeTime: Int64 = 5
  /// The longest time for one exchange, in seconds.
  private static let wholeTime: Int64 = 10
  /// How long an idle connection is kept, in seconds. A middlebox may have dropped it after this time.
  private static let idleTime: Int64 = 300
  /// The greatest size of a reply in bytes. Descriptions of errors are shorter.
  private static let greatestReply = 16 * 1_024

  private typealias Multiplexer = NIOHTTP2Handler.AsyncStreamMultiplexer<Void>
  private typealias Exchange = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  private struct Connection: Sendable {
    let channel: any Channel
    let multiplexer: Multiplexer
    var usedAt = NIODeadline.now()

    var isFresh: Bool { channel.isActive && NIODeadline.now() - usedAt < .seconds(HTTP2Client.idleTime) }
  }

  private let proxy: PushProxy?
  /// The name look-up, made at first use because it has its own threads.
  private let lookup = Mutex<NameLookup?>(nil)
  private let kept = Mutex<[HTTP2Endpoint: Connection]>([:])

  /// - Parameter proxy: nil: servers are reached directly.
  init(proxy: PushProxy? = nil) { self.proxy = proxy }

  deinit { for connection in kept.withLock({ $0.values }) { connection.channel.close(promise: nil) } }

  func post(
    _ body: [UInt8], to path: String, at endpoint: HTTP2Endpoint, headers: HTTPHeaders,
    tls: @Sendable () throws -> NIOSSLContext
  ) async throws -> HTTP2Reply {
    let connection = try await connection(to: endpoint, tls)
    do {
      return try await exchange(body, path, endpoint, headers, on: connection)
    } catch {
      // Whatever failed, the next message uses another connection.
      drop(connection, of: endpoint)
      throw error
    }
  }

  private func exchange(
    _ body: [UInt8], _ path: String, _ endpoint: HTTP2Endpoint, _ headers: HTTPHeaders, on connection: Connection
  ) async throws -> HTTP2Reply {
    let stream = try await connection.multiplexer.openStream { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .https))
        return try Exchange(wrappingChannelSynchronously: channel)
      }
    }
    let end = stream.channel.eventLoop.scheduleTask(in: .seconds(Self.wholeTime)) {
      stream.channel.close(promise: nil)
    }
    defer { end.cancel() }
    return try await stream.executeThenClose { inbound, outbound in
      var all = headers
      all.replaceOrAdd(name: "Host", value: String(endpoint.origin.dropFirst("https://".count)))
      all.replaceOrAdd(name: "Content-Length", value: "\(body.count)")
      let head = HTTPRequestHead(version: .http2, method: .POST, uri: path, headers: all)
      var unwritten: (any Error)?
      do {
        try await outbound.write(contentsOf: [.head(head), .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil)])
      } catch {
        // The peer that ended the connection may have sent the reason, which is read below.
        unwritten = error
      }
      var reply: PushReply?
      var text: [UInt8] = []
      for try await part in inbound {
        switch part {
        case .head(let head): reply = PushReply(head, at: .now())
        case .body(let bytes):
          guard text.count + bytes.readableBytes <= Self.greatestReply else { throw PushProblem.replyTooLong }
          text += bytes.readableBytesView
        case .end:
          guard let reply else { throw PushProblem.noReply }
          return HTTP2Reply(push: reply, body: text)
        }
      }
      throw unwritten ?? PushProblem.noReply
    }
  }

  // MARK: - Connections

  private func connection(to endpoint: HTTP2Endpoint, _ tls: @Sendable () throws -> NIOSSLContext) async throws
    -> Connection
  {
    let found = kept.withLock { kept -> Connection? in
      for (endpoint, connection) in kept where !connection.isFresh {
        connection.channel.close(promise: nil)
        kept[endpoint] = nil
      }
      kept[endpoint]?.usedAt = .now()
      return kept[endpoint]
    }
    if let found { return found }
    let made = try await connect(to: endpoint, try tls())
    // Another message may have connected meanwhile. One connection is enough.
    let other = kept.withLock { kept -> Connection? in
      if let other = kept[endpoint], other.isFresh { return other }
      kept[endpoint] = made
      return nil
    }
    if other != nil { made.channel.close(promise: nil) }
    return other ?? made
  }

  /// Other exchanges may still use the connection. Each has its own bound, and afterwards the connection is not needed.
  private func drop(_ connection: Connection, of endpoint: HTTP2Endpoint) {
    kept.withLock { if $0[endpoint]?.channel === connection.channel { $0[endpoint] = nil } }
    connection.channel.eventLoop.scheduleTask(in: .seconds(Self.wholeTime)) {
      connection.channel.close(promise: nil)
    }
  }

  private func connect(to endpoint: HTTP2Endpoint, _ tls: NIOSSLContext) async throws -> Connection {
    let (host, port) = proxy.map { ($0.host, $0.port) } ?? (endpoint.host, endpoint.port)
    let addresses = try await names().addresses(of: host, port: port)
    let tunnels = proxy != nil
    let (channel, negotiated, trouble) = try await FirstAddress.connect(addresses, of: host) { channel in
      // There is one for each connection. Connections that lose the race end too.
      let trouble = FirstError()
      return channel.eventLoop.makeCompletedFuture {
        if tunnels {
          try channel.pipeline.syncOperations.addHandler(ProxyTunnel(to: endpoint.host, port: endpoint.port))
        }
        try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: endpoint.host))
        try channel.pipeline.syncOperations.addHandler(trouble)
      }.flatMap { Self.negotiating(on: channel) }.map { (channel, $0, trouble) }
    }
    let end = channel.eventLoop.scheduleTask(in: .seconds(Self.handshakeTime)) { channel.close(promise: nil) }
    defer { end.cancel() }
    do {
      guard case .http2(let multiplexer) = try await negotiated.get() else { throw PushProblem.noHTTP2 }
      return Connection(channel: channel, multiplexer: multiplexer)
    } catch {
      channel.close(promise: nil)
      throw trouble.error ?? error
    }
  }

  private func names() -> NameLookup {
    lookup.withLock { lookup in
      let names = lookup ?? NameLookup()
      lookup = names
      return names
    }
  }

  private static func negotiating(
    on channel: any Channel
  ) -> EventLoopFuture<EventLoopFuture<NIONegotiatedHTTPVersion<Void, Multiplexer>>> {
    channel.configureHTTP2AsyncSecureUpgrade(
      http1ConnectionInitializer: { $0.eventLoop.makeSucceededVoidFuture() },
      http2ConnectionInitializer: { channel in
        // A service does not begin streams of its own (RFC 9113 §8.4).
        channel.configureAsyncHTTP2Pipeline(mode: .client) { stream in stream.close() }
      })
  }
}

/// Why TLS failed. Waiting tasks only learn that the connection was closed.
private final class FirstError: ChannelInboundHandler, Sendable {
  typealias InboundIn = NIOAny

  private let first = Mutex<(any Error)?>(nil)
  var error: (any Error)? { first.withLock { $0 } }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    first.withLock { $0 = $0 ?? error }
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }
}
