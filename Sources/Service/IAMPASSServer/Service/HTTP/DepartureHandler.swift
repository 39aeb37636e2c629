import NIOCore

/// Closes a connection of HTTP/1.1 whose client said that it sends no more. Otherwise its request would be held on: handlers are
/// never told.
final class DepartureHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = NIOAny
  typealias InboundOut = NIOAny

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed {
      context.close(promise: nil)
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }
}
