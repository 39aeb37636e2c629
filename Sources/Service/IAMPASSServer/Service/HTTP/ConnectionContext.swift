import Hummingbird
import NIOCore

/// What a request of HTTP/1.1 knows of its connection.
struct ConnectionContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }
}
