import IAMPASSProtocol

/// A reply: JSON, a page's file, or a stream.
public struct ServiceReply: Sendable {
  public let status: Int
  public private(set) var headers: [(name: String, value: String)]
  public let body: [UInt8]
  /// A stream in place of a body; nil for other replies.
  let events: (any EventSource)?
  /// The wait of this reply; nil for other replies. ``SignInService`` waits, so that such a reply does not leave it.
  let held: HeldReply?
  /// The reason of a refusal.
  let reason: Reason?
  /// Whether its body has the service's mark.
  private(set) var isMarked = false

  /// Makes a JSON reply.
  init(_ status: Int, _ body: [UInt8], reason: Reason? = nil) {
    self.init(
      status, body,
      headers: [
        ("Content-Type", "application/json"),
        // Replies must not be cached: they are for one moment and one client.
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
      ], reason: reason)
  }

  init(
    _ status: Int, _ body: [UInt8], headers: [(name: String, value: String)], events: (any EventSource)? = nil,
    held: HeldReply? = nil, reason: Reason? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.events = events
    self.held = held
    self.reason = reason
  }

  /// Makes a reply of server-sent events.
  init(streaming events: any EventSource) {
    self.init(
      200, [],
      headers: [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        // A proxy that buffers the stream would delay every request.
        ("X-Accel-Buffering", "no"),
      ], events: events)
  }

  /// Makes a held reply. Without the wait it is the reply of a service that stops.
  init(holding held: HeldReply) {
    let refusal = Self.refused(.stopping)
    self.init(503, refusal.body, headers: refusal.headers, held: held, reason: .stopping)
  }

  /// The reply after `change`. A held reply is changed once it is there.
  func finished(
    _ change: @escaping @Sendable (ServiceReply) async throws -> ServiceReply
  ) async rethrows -> ServiceReply {
    guard let held else { return try await change(self) }
    return ServiceReply(holding: held.finished(change))
  }

  /// `{"status":false,"reason":…}`, with the reason's own HTTP status.
  public static func refused(_ reason: Reason) -> ServiceReply { refused(reason, as: reason.status) }

  /// The same with another HTTP status, which the documentation or browsers require here.
  static func refused(_ reason: Reason, as status: Int) -> ServiceReply {
    ServiceReply(status, AcknowledgementReply(done: false, reason: reason.rawValue).encoded(), reason: reason)
  }

  /// The same with status 200, for a request that was accepted: its reply says why nothing was done.
  static func notDone(_ reason: Reason) -> ServiceReply { refused(reason, as: 200) }

  /// `{"status":true}`.
  static var done: ServiceReply { ServiceReply(200, AcknowledgementReply(done: true).encoded()) }

  /// The reply with the mark in its body, so that the signature covers it.
  func marked(_ mark: ServiceMark) -> ServiceReply {
    var reply = ServiceReply(status, mark.appended(to: body), headers: headers, events: events, reason: reason)
    reply.isMarked = true
    return reply
  }

  func adding(_ name: String, _ value: String) -> ServiceReply {
    var reply = self
    reply.headers.append((name, value))
    return reply
  }
}

extension ServiceMark {
  /// As ``added(to:)``, but for a body that this service wrote itself. If it begins and ends with a brace, it is a JSON
  /// object.
  fileprivate func appended(to body: [UInt8]) -> [UInt8] {
    guard body.first == UInt8(ascii: "{"), body.last == UInt8(ascii: "}") else { return body }
    let comma = body.count > 2 ? "," : ""
    return body.dropLast() + Array(#"\#(comma)"mark":{"epoch":\#(epoch),"counter":\#(counter)}}"#.utf8)
  }
}
