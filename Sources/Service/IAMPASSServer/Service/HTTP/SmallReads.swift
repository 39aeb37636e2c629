import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// A child channel on TLS whose reads are copied into buffers of their own size. TLS reads into 32 KiB, and the HTTP/2
/// parser keeps the buffer of its last read. An open page that is silent for hours would keep both.
struct SmallReads<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    base.setup(channel: channel, logger: logger).flatMapThrowing { value in
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandler(CopyingHandler(), position: .after(pipeline.handler(type: NIOSSLServerHandler.self)))
      return value
    }
  }

  func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Used on its channel's event loop only.
private final class CopyingHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let read = unwrapInboundIn(data)
    context.fireChannelRead(wrapInboundOut(context.channel.allocator.buffer(buffer: read)))
  }
}
