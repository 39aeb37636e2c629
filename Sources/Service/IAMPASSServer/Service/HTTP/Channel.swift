import NIOCore

extension Channel {
  /// The connection that this is a stream of, or is.
  var connection: any Channel {
    // A stream's channel has its connection's as parent; a connection's has the listening one.
    guard let parent, parent.parent != nil else { return self }
    return parent
  }
}
