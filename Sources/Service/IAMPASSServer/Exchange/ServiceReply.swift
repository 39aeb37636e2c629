import IAMPASSProtocol

/// A reply: JSON, or a page's file, each whole; or a stream.
public struct ServiceReply: Sendable {
  public let status: Int
  public private(set) var headers: [(name: String, value: String)]
  public let body: [UInt8]
  /// What comes instead of a body for as long as there is news.
  let events: (any EventSource)?
  /// What this reply waits for. ``SignInService`` waits; nobody sees such a reply outside of it.
  let held: HeldReply?
  /// The reason of a refusal.
  let reason: Reason?

  /// JSON.
  init(_ status: Int, _ body: [UInt8], reason: Reason? = nil) {
    self.init(
      status, body,
      headers: [
        ("Content-Type", "application/json"),
        // Replies are about one moment and one client.
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

  /// Server-sent events.
  init(streaming events: any EventSource) {
    self.init(
      200, [],
      headers: [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        // A proxy that collects the stream would hold every request back.
        ("X-Accel-Buffering", "no"),
      ], events: events)
  }

  /// The reply that there will be. Until then it is the one of a service that stops.
  init(holding held: HeldReply) {
    let refusal = Self.refused(.stopping)
    self.init(503, refusal.body, headers: refusal.headers, held: held, reason: .stopping)
  }

  /// The reply after `change`; a held one is changed once it is there.
  func finished(
    _ change: @escaping @Sendable (ServiceReply) async throws -> ServiceReply
  ) async rethrows -> ServiceReply {
    guard let held else { return try await change(self) }
    return ServiceReply(holding: held.finished(change))
  }

  /// `{"status":false,"reason":…}`, with the reason's own HTTP status.
  public static func refused(_ reason: Reason) -> ServiceReply { refused(reason, as: reason.status) }

  /// The same with the HTTP status that the documentation, or browsers, want here instead.
  static func refused(_ reason: Reason, as status: Int) -> ServiceReply {
    ServiceReply(status, AcknowledgementReply(done: false, reason: reason.rawValue).encoded(), reason: reason)
  }

  /// The same for a request that was taken: its reply says why nothing was done.
  static func notDone(_ reason: Reason) -> ServiceReply { refused(reason, as: 200) }

  /// `{"status":true}`.
  static var done: ServiceReply { ServiceReply(200, AcknowledgementReply(done: true).encoded()) }

  /// With the mark in its body, for the signature to cover it.
  func marked(_ mark: ServiceMark) -> ServiceReply {
    ServiceReply(status, mark.appended(to: body), headers: headers, events: events, reason: reason)
  }

  func adding(_ name: String, _ value: String) -> ServiceReply {
    var reply = self
    reply.headers.append((name, value))
    return reply
  }
}

extension ServiceMark {
  /// As ``added(to:)`` for a body that this service wrote itself: whatever begins and ends with a brace is a JSON object.
  fileprivate func appended(to body: [UInt8]) -> [UInt8] {
    guard body.first == UInt8(ascii: "{"), body.last == UInt8(ascii: "}") else { return body }
    let comma = body.count > 2 ? "," : ""
    return body.dropLast() + Array(#"\#(comma)"mark":{"epoch":\#(epoch),"counter":\#(counter)}}"#.utf8)
  }
}
