import Hummingbird
import NIOCore

/// What a request knows of its connection.
struct ConnectionContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }

  var isHTTP2: Bool { channel.connection !== channel }
}
