import NIOCore
import NIOHTTP2

/// Stands last on a connection of HTTP/2, and closes it once it has had no stream for a while, its client sends no more, or
/// what came was not HTTP/2. Used on its channel's event loop only.
final class StreamlessHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame

  /// For a client that was told to open no more streams, to close by itself.
  private static let farewellTime = TimeAmount.seconds(5)

  private let time: TimeAmount
  private var streams = 0
  private var timer: Scheduled<Void>?
  /// The service stops.
  private var isLeaving = false

  init(time: TimeAmount) { self.time = time }

  func handlerAdded(context: ChannelHandlerContext) { waitForStream(on: context.channel) }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed {
      // Held requests would be held on.
      context.close(promise: nil)
    } else if event is ChannelShouldQuiesceEvent {
      isLeaving = true
      sayFarewell(on: context.channel)
      if streams == 0 { context.close(promise: nil) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func opened() {
    streams += 1
    timer?.cancel()
  }

  func closed(on connection: any Channel) {
    streams -= 1
    guard streams == 0 else { return }
    if isLeaving { connection.close(promise: nil) } else { waitForStream(on: connection) }
  }

  private func waitForStream(on connection: any Channel) {
    guard connection.isActive else { return }
    timer = connection.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
      sayFarewell(on: connection)
      // A stream that was on its way is still answered.
      timer = connection.eventLoop.scheduleTask(in: Self.farewellTime) { connection.close(promise: nil) }
    }
  }

  /// RFC 9113 §6.8.
  private func sayFarewell(on connection: any Channel) {
    let farewell = HTTP2Frame.FramePayload.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil)
    connection.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: farewell), promise: nil)
  }
}
