/// A reply that says only whether the service acted: `logout_url`, `delete_users`, `send_registration_sms`, and every
/// refusal.
public struct AcknowledgementReply: Sendable, Equatable {
  public let done: Bool
  public let reason: String?
  /// The session's name, see ``StartedSession/name``.
  public let session: String?

  public init(done: Bool, reason: String? = nil, session: String? = nil) {
    self.done = done
    self.reason = reason
    self.session = session
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard let status = json["status"]?.bool else { throw .member("status") }
    self.init(done: status, reason: json["reason"]?.string, session: json["session_name"]?.string)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(done), "reason": reason.map { .string($0) }, "session_name": session.map { .string($0) },
    ]).encoded()
  }
}
