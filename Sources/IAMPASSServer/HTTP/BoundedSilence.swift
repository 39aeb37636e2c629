import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2

/// A child channel whose client must finish its handshake and say something in time. Otherwise a silent client would
/// hold a place for ever.
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
