/// The reply of `status_url`: flat in the documentation, nested in the published client. Both are read. If a reply has
/// both, they must agree.
public struct StatusReply: Sendable, Equatable {
  public let status: SessionStatus
  public let authenticated: Bool?
  public let reason: String?
  /// The session's name, see ``StartedSession/name``.
  public let session: String?
  /// The service's position in its history; nil if the service does not send it.
  public private(set) var mark: ServiceMark?
  /// The phone's signed approval, as the phone sent it: an object with `phone`, `statement`, `signature` and perhaps
  /// `assertion`. Only for an active session that was started with a challenge. As received, nothing is verified.
  public private(set) var approval: JSON?
  /// A JWT about the approval (OpenID Connect Core §2), if the start asked for one. As received, nothing is verified.
  public private(set) var idToken: String?
  /// The service's name for the phone that approved; nil if the session is not active, and from a service that does not
  /// send it. It is only the service's word: it names the phone in a log and decides nothing.
  public private(set) var approvedBy: String?

  public init(
    status: SessionStatus, authenticated: Bool?, reason: String?, session: String? = nil, approval: JSON? = nil,
    idToken: String? = nil, approvedBy: String? = nil
  ) {
    self.status = status
    self.authenticated = authenticated
    self.reason = reason
    self.session = session
    self.approval = approval
    self.idToken = idToken
    self.approvedBy = approvedBy
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    let nested = try json["authentication_status"].map { (value) throws(MessageError) in try StatusReply(value) }
    let flat = json["session_status"] == nil ? nil : try StatusReply(json)
    switch (nested, flat) {
    case (let nested?, let flat?):
      guard nested.status == flat.status,
        nested.authenticated ?? flat.authenticated == flat.authenticated ?? nested.authenticated
      else { throw .contradiction("session_status") }
      self.init(
        status: nested.status, authenticated: nested.authenticated ?? flat.authenticated,
        reason: nested.reason ?? flat.reason, session: json["session_name"]?.string)
    case (let reply?, nil), (nil, let reply?):
      self.init(
        status: reply.status, authenticated: reply.authenticated, reason: reply.reason,
        session: json["session_name"]?.string)
    case (nil, nil): throw .member("session_status")
    }
    mark = ServiceMark(ofReply: json)
    approval = json["approval"].flatMap { $0 == .null ? nil : $0 }
    idToken = json["id_token"]?.string
    approvedBy = StartedSession.label(json["approved_by"]?.string)
  }

  private init(_ reply: JSON) throws(MessageError) {
    guard let word = reply["session_status"]?.string else { throw .member("session_status") }
    status = SessionStatus(word: word)
    switch reply["authenticated"] {
    case nil, .null: authenticated = nil
    case .bool(let value): authenticated = value
    default: throw .member("authenticated")
    }
    switch reply["reason"] {
    case nil, .null: reason = nil
    case .string(let text): reason = text
    default: throw .member("reason")
    }
    session = nil
  }

  /// Writes both forms.
  public func encoded() -> [UInt8] {
    func members() -> KeyValuePairs<String, JSON?> {
      [
        "authenticated": authenticated.map { .bool($0) }, "session_status": .string(status.word),
        "reason": reason.map { .string($0) } ?? .null,
      ]
    }
    guard case .object(let flat) = JSON.object(members()) else { preconditionFailure("an object has members") }
    let name = session.map { [JSON.Member("session_name", .string($0))] } ?? []
    let further = [
      ("approval", approval), ("id_token", idToken.map { .string($0) }),
      ("approved_by", approvedBy.map { .string($0) }),
    ].compactMap { name, value in
      value.map { JSON.Member(name, $0) }
    }
    return JSON.object(flat + name + [JSON.Member("authentication_status", .object(flat))] + further).encoded()
  }
}
