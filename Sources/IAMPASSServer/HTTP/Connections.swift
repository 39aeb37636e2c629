import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP2

/// What a request knows of its connection.
struct ConnectionContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }

  var isHTTP2: Bool { channel.connection !== channel }
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

/// Closes a connection whose client takes nothing of what is for it: neither the request nor what holds its reply would
/// ever end. On a stream of HTTP/2 it is the whole connection. Used on its channel's event loop only.
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

extension Channel {
  /// The connection that this is a stream of, or is.
  var connection: any Channel {
    // A stream's channel has its connection's as parent; a connection's has the listening one.
    guard let parent, parent.parent != nil else { return self }
    return parent
  }
}

/// A child channel that counts as one of the ``OpenConnections`` of its listener.
struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  let connections: OpenConnections

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    connections.opened(channel)
    return base.setup(channel: channel, logger: logger)
  }

  func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// A child channel whose client must finish its handshake and say something in time: else who connects and is silent
/// holds a place for ever.
struct BoundedSilence<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  /// Until the first bytes.
  let time: TimeAmount
  /// Without a stream of HTTP/2.
  let streamlessTime: TimeAmount

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    base.setup(channel: channel, logger: logger).flatMapThrowing { value in
      try channel.pipeline.syncOperations.addHandler(SilenceHandler(time: time, streamlessTime: streamlessTime))
      return value
    }
  }

  func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Stands behind TLS, so that the first bytes it sees are the client's own. Used on its channel's event loop only.
private final class SilenceHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  /// Requests at once on a connection of HTTP/2 (RFC 9113 §6.5.2).
  private static let mostStreams = 256

  private let time: TimeAmount
  private let streamlessTime: TimeAmount
  private var timer: Scheduled<Void>?

  init(time: TimeAmount, streamlessTime: TimeAmount) {
    self.time = time
    self.streamlessTime = streamlessTime
  }

  func handlerAdded(context: ChannelHandlerContext) {
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    timer?.cancel()
    let pipeline = context.pipeline.syncOperations
    let isHTTP2 = (try? pipeline.context(handlerType: NIOHTTP2Handler.self)) != nil
    // What HTTP/1.1 does is bounded behind its decoder.
    if isHTTP2 {
      do {
        try pipeline.addHandler(StreamlessHandler(time: streamlessTime), position: .after(self))
      } catch {
        return context.close(promise: nil)
      }
    }
    context.fireChannelRead(data)
    if isHTTP2 { allowStreams(on: context.channel) }
    pipeline.removeHandler(self, promise: nil)
  }

  /// A computer with many sessions holds a request for each, on few connections. NIO's own bound is 100.
  private func allowStreams(on connection: any Channel) {
    let most = HTTP2Setting(parameter: .maxConcurrentStreams, value: Self.mostStreams)
    connection.writeAndFlush(
      HTTP2Frame(streamID: .rootStream, payload: .settings(.settings([most]))), promise: nil)
  }
}

/// Closes a connection of HTTP/2 that has had no stream for a while. Hummingbird says farewell to it, and then waits for
/// an answer for ever. Used on its channel's event loop only.
private final class StreamlessHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let time: TimeAmount
  private var streams = 0
  private var timer: Scheduled<Void>?

  init(time: TimeAmount) { self.time = time }

  func handlerAdded(context: ChannelHandlerContext) {
    waitForStream(on: context.channel)
  }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func opened() {
    streams += 1
    timer?.cancel()
  }

  func closed(on connection: any Channel) {
    streams -= 1
    if streams == 0 { waitForStream(on: connection) }
  }

  private func waitForStream(on connection: any Channel) {
    guard connection.isActive else { return }
    timer = connection.eventLoop.scheduleTask(in: time) { connection.close(promise: nil) }
  }
}

/// A stream's word to its connection's ``StreamlessHandler``. Used on its channel's event loop only.
final class StreamHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private var counter: StreamlessHandler?

  func handlerAdded(context: ChannelHandlerContext) {
    let connection = context.channel.connection
    guard connection !== context.channel else { return }
    counter = try? connection.pipeline.syncOperations.handler(type: StreamlessHandler.self)
    counter?.opened()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    counter?.closed(on: context.channel.connection)
    counter = nil
  }
}
