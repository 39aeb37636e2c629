import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

extension Response {
  /// - Parameter presence: kept until the last byte of a stream was written.
  init(_ reply: ServiceReply, _ context: ConnectionContext, _ presence: RequestsAtWork.Presence? = nil) {
    var headers = HTTPFields()
    // HTTP/2 has no connection header (RFC 9113 §8.2.2).
    for (name, value) in reply.headers where !(context.isHTTP2 && name == "Connection") {
      if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
    }
    let body = reply.events.map { ResponseBody(events: $0, channel: context.channel, presence) }
    self.init(
      status: .init(code: reply.status), headers: headers,
      body: body ?? ResponseBody(byteBuffer: ByteBuffer(bytes: reply.body)))
  }
}

extension ResponseBody {
  /// Seconds that a client may take for one piece of a stream.
  private static let pieceTime: Int64 = 30

  fileprivate init(events: any EventSource, channel: any Channel, _ presence: RequestsAtWork.Presence?) {
    self.init { writer in
      defer { _ = presence }
      while let piece = await events.next() {
        // A client that takes nothing would keep its connection and its data for ever.
        let end = channel.eventLoop.scheduleTask(in: .seconds(Self.pieceTime)) { channel.close(promise: nil) }
        defer { end.cancel() }
        try await writer.write(ByteBuffer(bytes: piece))
      }
      try await writer.finish(nil)
    }
  }
}
