import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

extension Response {
  /// - Parameter presence: is kept until the last byte of a stream was written.
  init(_ reply: ServiceReply, _ context: ConnectionContext, _ presence: RequestsAtWork.Presence? = nil) {
    var headers = HTTPFields()
    for (name, value) in reply.headers {
      if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
    }
    let body = reply.events.map { ResponseBody(events: $0, channel: context.channel, presence) }
    self.init(
      status: .init(code: reply.status), headers: headers,
      body: body ?? ResponseBody(byteBuffer: ByteBuffer(bytes: reply.body)))
  }
}

extension ServiceReply {
  /// The longest time that a client may take to read one piece of a stream, in seconds.
  static let pieceTime: Int64 = 30
}

extension ResponseBody {
  fileprivate init(events: any EventSource, channel: any Channel, _ presence: RequestsAtWork.Presence?) {
    self.init { writer in
      defer { _ = presence }
      while let piece = await events.next() {
        // A client that reads nothing would keep its connection and its data for ever.
        let end = channel.eventLoop.scheduleTask(in: .seconds(ServiceReply.pieceTime)) { channel.close(promise: nil) }
        defer { end.cancel() }
        try await writer.write(ByteBuffer(bytes: piece))
      }
      try await writer.finish(nil)
    }
  }
}
