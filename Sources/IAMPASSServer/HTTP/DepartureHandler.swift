import NIOCore

/// Closes a connection whose client said that it sends no more. Otherwise its request would be held on: handlers are
/// never told.
final class DepartureHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = NIOAny
  typealias InboundOut = NIOAny

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // On a stream of HTTP/2 the end of input is the end of each request.
    if let event = event as? ChannelEvent, event == .inputClosed, context.channel.parent?.parent == nil {
      context.close(promise: nil)
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }
}
