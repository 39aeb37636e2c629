/// The reply to `authenticate_user`.
public enum StartReply: Sendable, Equatable {
  /// The phone was asked. This is not an approval, whatever `authenticated` says.
  case started(StartedSession)
  case notStarted(reason: String?)

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    let reply = json["authentication_status"] ?? json
    guard let authenticated = reply["authenticated"]?.bool else { throw .member("authenticated") }
    guard authenticated else {
      self = .notStarted(reason: reply["reason"]?.string)
      return
    }
    self = .started(try StartedSession(reply))
  }

  public func encoded() -> [UInt8] {
    let reply: JSON =
      switch self {
      case .started(let session): session.json
      case .notStarted(let reason):
        .object([
          "authenticated": .bool(false), "session_status": .string(SessionStatus.failed.word),
          "reason": reason.map { .string($0) } ?? .null, "status_url": .null, "logout_url": .null,
          "session_token": .null, "session_secret": .null,
        ])
      }
    return JSON.object(["authentication_status": reply]).encoded()
  }
}
