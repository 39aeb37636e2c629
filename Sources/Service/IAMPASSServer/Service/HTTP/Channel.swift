import NIOCore

extension Channel {
  /// The connection of this stream, or this connection itself.
  var connection: any Channel {
    // The parent of a stream's channel is its connection's channel. The parent of a connection's channel is the
    // listening one.
    guard let parent, parent.parent != nil else { return self }
    return parent
  }
}
