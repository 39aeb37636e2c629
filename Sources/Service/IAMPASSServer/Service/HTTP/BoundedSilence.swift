import HummingbirdCore
import Logging
import NIOCore

/// A child channel whose client must finish its handshake and send bytes in time. Otherwise a silent client would hold
/// a place for ever.
struct BoundedSilence<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  /// The longest time until the first bytes.
  let time: TimeAmount

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    base.setup(channel: channel, logger: logger).flatMapThrowing { value in
      try channel.pipeline.syncOperations.addHandler(SilenceHandler(time: time))
      return value
    }
  }

  func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// It comes after TLS, so that the first bytes it sees are the client's own. Used on its channel's event loop only.
private final class SilenceHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let time: TimeAmount
  private var timer: Scheduled<Void>?

  init(time: TimeAmount) { self.time = time }

  func handlerAdded(context: ChannelHandlerContext) {
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    timer?.cancel()
    context.fireChannelRead(data)
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }
}
