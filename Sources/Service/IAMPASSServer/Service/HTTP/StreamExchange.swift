import HTTPTypes
import IAMPASSProtocol
import Logging
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP2

/// One request on a stream of HTTP/2, and its reply. Used on its channel's event loop only.
///
/// A task begins when the request is whole. Thousands of streams wait for news, so each must use little memory.
final class StreamExchange: ChannelInboundHandler {
  typealias InboundIn = HTTPRequestPart

  /// The service that answers.
  struct Service: Sendable {
    let requests: RequestsAtWork
    /// How long a client may read nothing of its reply, in seconds.
    let takingTime: Int64
    /// The reply to a whole request.
    let reply: @Sendable (ServiceRequest) async -> ServiceReply
    /// Is called once the client of a connection is authenticated.
    let onProof: @Sendable (any Channel) -> Void
  }

  /// A request until it is whole.
  private struct Arriving {
    let head: HTTPRequest
    let presence: RequestsAtWork.Presence
    var body: [UInt8] = []
  }

  private let connection: StreamlessHandler
  private let service: Service
  /// The arriving request; nil before it, and once it was whole or refused.
  private var arriving: Arriving?
  /// Whether the request is HEAD, so that the reply must have no body (RFC 9110 §9.3.2). NIO treats a body as an error.
  private var isForHead = false
  private var timer: Scheduled<Void>?

  private init(of connection: StreamlessHandler, for service: Service) {
    self.connection = connection
    self.service = service
  }

  static func begin(on stream: any Channel, of connection: StreamlessHandler, for service: Service) throws {
    let pipeline = stream.pipeline.syncOperations
    try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
    try pipeline.addHandler(SlowReaderHandler(time: .seconds(service.takingTime)))
    try pipeline.addHandler(StreamExchange(of: connection, for: service))
  }

  func handlerAdded(context: ChannelHandlerContext) { connection.opened() }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    arriving = nil
    connection.closed(on: context.channel.connection)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): begin(head, context)
    case .body(let bytes):
      arriving?.body += bytes.readableBytesView
      if let arriving, arriving.body.count > RequestBody.greatestLength { refuse(RequestBody.tooLarge.reply, context) }
    case .end: answer(context)
    }
  }

  private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
    isForHead = head.method == .head
    // A client whose held request was just answered would ask again and again at once.
    guard let presence = service.requests.enter() else { return refuse(.stopping, context) }
    if let length = head.headerFields[.contentLength].flatMap({ Int($0) }), length > RequestBody.greatestLength {
      return refuse(RequestBody.tooLarge.reply, context)
    }
    arriving = Arriving(head: head, presence: presence)
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(RequestBody.time)) { [self] in
      if arriving != nil { refuse(RequestBody.tooSlow.reply, context) }
    }
  }

  /// Refuses the request. Further bytes on this stream are not read.
  private func refuse(_ reply: ServiceReply, _ context: ChannelHandlerContext) {
    timer?.cancel()
    arriving = nil
    let stream = context.channel
    StreamReply(stream, hasBody: !isForHead).send(reply)
    context.eventLoop.scheduleTask(in: .seconds(1)) { stream.close(promise: nil) }
  }

  private func answer(_ context: ChannelHandlerContext) {
    guard let whole = arriving else { return }
    arriving = nil
    timer?.cancel()
    timer = nil
    let (service, stream) = (service, context.channel)
    let request = ServiceRequest(whole.head, body: whole.body, channel: stream) {
      service.onProof(stream.connection)
    }
    let way = StreamReply(stream, hasBody: !isForHead)
    Task(executorPreference: LoopExecutor(stream.eventLoop)) { [presence = whole.presence] in
      await way.send(service.reply(request), presence)
    }
  }
}

/// The reply's way to the client of a stream.
private struct StreamReply: Sendable {
  private let stream: any Channel
  private let hasBody: Bool

  /// - Parameter hasBody: false for a reply to HEAD.
  init(_ stream: any Channel, hasBody: Bool) {
    self.stream = stream
    self.hasBody = hasBody
  }

  /// Sends a reply that is not a stream.
  ///
  /// - Parameter presence: is kept until the last byte was written.
  func send(_ reply: ServiceReply, keeping presence: RequestsAtWork.Presence? = nil) {
    var head = head(of: reply)
    head.headerFields[.contentLength] = String(reply.body.count)
    stream.write(HTTPResponsePart.head(head), promise: nil)
    if hasBody, !reply.body.isEmpty { stream.write(HTTPResponsePart.body(ByteBuffer(bytes: reply.body)), promise: nil) }
    // A client that does not open the stream's window would keep its reply for ever.
    let end = stream.eventLoop.scheduleTask(in: .seconds(ServiceReply.pieceTime)) { stream.close(promise: nil) }
    stream.writeAndFlush(HTTPResponsePart.end(nil)).whenComplete { _ in
      end.cancel()
      withExtendedLifetime(presence) {}
    }
  }

  /// Sends any reply.
  ///
  /// - Parameter presence: is kept until the last byte was written.
  func send(_ reply: ServiceReply, _ presence: RequestsAtWork.Presence) {
    guard let events = reply.events else { return send(reply, keeping: presence) }
    stream.writeAndFlush(HTTPResponsePart.head(head(of: reply)), promise: nil)
    // The task that found the reply ends here, and frees its memory and the request's.
    Task(executorPreference: LoopExecutor(stream.eventLoop)) {
      await send(events)
      withExtendedLifetime(presence) {}
    }
  }

  private func send(_ events: any EventSource) async {
    while let piece = await events.next() {
      // A client that reads nothing would keep its connection and its data for ever.
      let end = stream.eventLoop.scheduleTask(in: .seconds(ServiceReply.pieceTime)) { stream.close(promise: nil) }
      defer { end.cancel() }
      do {
        try await stream.writeAndFlush(HTTPResponsePart.body(ByteBuffer(bytes: piece))).get()
      } catch {
        // The client has gone.
        return
      }
    }
    stream.writeAndFlush(HTTPResponsePart.end(nil), promise: nil)
  }

  private func head(of reply: ServiceReply) -> HTTPResponse {
    var fields = HTTPFields()
    // HTTP/2 has no connection header (RFC 9113 §8.2.2).
    for (name, value) in reply.headers where name != "Connection" {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    fields[.date] = ReplyDate.now()
    return HTTPResponse(status: .init(code: reply.status), headerFields: fields)
  }
}
