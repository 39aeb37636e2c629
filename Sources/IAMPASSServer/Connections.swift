import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL

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

/// A child channel whose TLS handshake must be over in time: else who connects and says nothing holds a place for ever.
struct BoundedHandshake<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  let time: TimeAmount

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    let value = base.setup(channel: channel, logger: logger)
    let timer = channel.eventLoop.scheduleTask(in: time) {
      channel.nioSSL_tlsVersion().whenComplete { result in
        if case .success(.some) = result { return }
        channel.close(promise: nil)
      }
    }
    channel.closeFuture.whenComplete { _ in timer.cancel() }
    return value
  }

  func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
