import NIOCore
import NIOHTTP2

/// The last handler of an HTTP/2 connection. It closes the connection if there was no stream for a while, if its client
/// has closed its side, or if the bytes were not HTTP/2. Used on its channel's event loop only.
final class StreamlessHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame

  /// The time for a client that got GOAWAY to close by itself.
  private static let farewellTime = TimeAmount.seconds(5)

  private let time: TimeAmount
  private var streams = 0
  private var timer: Scheduled<Void>?
  /// Whether the service stops.
  private var isLeaving = false

  init(time: TimeAmount) { self.time = time }

  func handlerAdded(context: ChannelHandlerContext) { waitForStream(on: context.channel) }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed {
      // Otherwise held requests would stay held.
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
      // A stream that the client has already begun is still answered.
      timer = connection.eventLoop.scheduleTask(in: Self.farewellTime) { connection.close(promise: nil) }
    }
  }

  /// Sends GOAWAY (RFC 9113 §6.8).
  private func sayFarewell(on connection: any Channel) {
    let farewell = HTTP2Frame.FramePayload.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil)
    connection.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: farewell), promise: nil)
  }
}
