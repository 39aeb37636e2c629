import Hummingbird
import NIOCore

/// The connection of an HTTP/1.1 request.
struct ConnectionContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }
}
