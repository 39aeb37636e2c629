import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Puts ``FramingHandler`` before what translates HTTP/1.1 and leaves out the version and a second host.
final class FramingCheck: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = NIOAny

  func handlerAdded(context: ChannelHandlerContext) {
    // Streams of HTTP/2 have frames, and no such words.
    guard context.channel.connection === context.channel else { return }
    do {
      let pipeline = context.pipeline.syncOperations
      let translation = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
      try pipeline.addHandler(FramingHandler(), position: .before(translation))
    } catch {
      context.close(promise: nil)
    }
  }
}

/// Refuses HTTP/1.1 requests whose end somebody else may see elsewhere, as far as NIO's decoder does not: a proxy before
/// the service would take the rest for another client's request (RFC 9112 §11.2).
private final class FramingHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// Seconds that a client has to read why it was refused.
  private static let readingTime: Int64 = 1

  /// The decoder refuses: what still comes is not worth keeping the connection for.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let connection = context.channel
    context.eventLoop.scheduleTask(in: .seconds(Self.readingTime)) { connection.close(promise: nil) }
    context.fireErrorCaught(error)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data), !head.isPlain else { return context.fireChannelRead(data) }
    // TLS waits some seconds for the client's farewell.
    try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    let headers: HTTPHeaders = ["Connection": "close", "Content-Length": "0"]
    let refusal = HTTPResponseHead(version: .http1_1, status: .badRequest, headers: headers)
    context.write(wrapOutboundOut(.head(refusal)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.close(promise: nil)
  }
}

extension HTTPRequestHead {
  /// Whether all readers of HTTP see the same request, and HTTP goes on after it.
  fileprivate var isPlain: Bool {
    let codings = headers["Transfer-Encoding"]
    // Of other codings the decoder believes the last word alone; HTTP/1.0 has none.
    guard codings.isEmpty || codings.map({ $0.lowercased() }) == ["chunked"] && version == .http1_1 else {
      return false
    }
    // RFC 9112 §3.2.
    guard headers["Host"].count <= 1 else { return false }
    // NIO's decoder would keep all that follows, without a bound.
    return method != .CONNECT && !headers.contains(name: "Upgrade")
  }
}
