import NIOCore

/// Closes a connection whose client does not read its reply: otherwise the request and its reply would never end. On an
/// HTTP/2 stream it closes the whole connection. Used on its channel's event loop only.
final class SlowReaderHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let time: TimeAmount
  private var timer: Scheduled<Void>?

  init(time: TimeAmount) { self.time = time }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      timer?.cancel()
      timer = nil
    } else if timer == nil {
      let connection = context.channel.connection
      timer = context.eventLoop.scheduleTask(in: time) { connection.close(promise: nil) }
    }
    context.fireChannelWritabilityChanged()
  }
}
