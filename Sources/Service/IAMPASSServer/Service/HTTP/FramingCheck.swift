import IAMPASSProtocol
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Puts ``FramingHandler`` before the handler that translates HTTP/1.1, which drops the version and a second host.
final class FramingCheck: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = NIOAny

  private let publicURL: ServerURL?

  /// - Parameter publicURL: the service's address for clients; nil if each request's own authority counts.
  init(publicURL: ServerURL?) { self.publicURL = publicURL }

  func handlerAdded(context: ChannelHandlerContext) {
    do {
      let pipeline = context.pipeline.syncOperations
      let translation = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
      try pipeline.addHandler(FramingHandler(publicURL: publicURL), position: .before(translation))
    } catch {
      context.close(promise: nil)
    }
  }
}

/// Refuses HTTP/1.1 requests whose end is ambiguous, if NIO's decoder does not refuse them. A proxy in front of the
/// service could take the rest for another client's request (RFC 9112 §11.2).
private final class FramingHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// The time for a client to read the refusal, in seconds.
  private static let readingTime: Int64 = 1

  private let publicURL: ServerURL?

  init(publicURL: ServerURL?) { self.publicURL = publicURL }

  /// The decoder has refused the request, so the connection is closed.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let connection = context.channel
    context.eventLoop.scheduleTask(in: .seconds(Self.readingTime)) { connection.close(promise: nil) }
    context.fireErrorCaught(error)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data), !(head.isPlain && head.isFor(publicURL)) else {
      return context.fireChannelRead(data)
    }
    // TLS waits some seconds for the client's close.
    try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    let headers: HTTPHeaders = ["Connection": "close", "Content-Length": "0"]
    let refusal = HTTPResponseHead(version: .http1_1, status: .badRequest, headers: headers)
    context.write(wrapOutboundOut(.head(refusal)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.close(promise: nil)
  }
}

extension HTTPRequestHead {
  /// Whether all HTTP implementations see the same request, and HTTP continues after it.
  fileprivate var isPlain: Bool {
    let codings = headers["Transfer-Encoding"]
    // The decoder looks only at the last coding. HTTP/1.0 does not have codings.
    guard codings.isEmpty || codings.map({ $0.lowercased() }) == ["chunked"] && version == .http1_1 else {
      return false
    }
    // RFC 9112 §3.2.
    guard headers["Host"].count <= 1 else { return false }
    // NIO's decoder would buffer all following bytes without a bound.
    return method != .CONNECT && !headers.contains(name: "Upgrade")
  }

  /// Whether the target does not name another service. In absolute form (RFC 9112 §3.2.2) it has a scheme and an
  /// authority, which the translation drops. The request would then be answered as one for the authority of `Host`.
  ///
  /// - Parameter publicURL: the service's address for clients; nil: only `Host` says it.
  func isFor(_ publicURL: ServerURL?) -> Bool {
    if uri.utf8.first == UInt8(ascii: "/") { return true }
    let target = uri.lowercased()
    guard target.hasPrefix("https://") else { return false }
    let authority = target.dropFirst("https://".count).prefix { !"/?#".contains($0) }
    guard let host = headers["Host"].first, authority == host.lowercased() else { return false }
    guard let origin = publicURL?.origin.lowercased() else { return true }
    return ["https://" + authority, "https://" + authority + ":443"].contains { $0 == origin || $0 == origin + ":443" }
  }
}
