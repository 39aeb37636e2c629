import HummingbirdCore
import Logging
import NIOCore

/// A child channel that counts as one of the ``OpenConnections`` of its listener. Its tasks run on its event loop.
struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  let connections: OpenConnections

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    connections.opened(channel)
    return base.setup(channel: channel, logger: logger)
  }

  func handle(value: Base.Value, logger: Logger) async {
    await withTaskExecutorPreference(LoopExecutor(value.channel.eventLoop)) {
      await base.handle(value: value, logger: logger)
    }
  }
}
