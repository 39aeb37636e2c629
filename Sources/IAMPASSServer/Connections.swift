import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore

/// What a request knows of its connection.
struct ConnectionContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }

  /// A stream's channel has its connection's as parent; a connection's has the listening one.
  var isHTTP2: Bool { channel.parent?.parent != nil }
}

/// Closes a connection whose client said that it sends no more: a handler is never told, and would hold its request on.
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

/// A child channel whose client must finish its handshake and say something in time: else who connects and is silent
/// holds a place for ever.
struct BoundedSilence<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  let time: TimeAmount

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    base.setup(channel: channel, logger: logger).flatMapThrowing { value in
      try channel.pipeline.syncOperations.addHandler(SilenceHandler(time: time))
      return value
    }
  }

  func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Stands behind TLS, so that the first bytes it sees are the client's own. Used on its channel's event loop only.
private final class SilenceHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny
  typealias InboundOut = NIOAny

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
