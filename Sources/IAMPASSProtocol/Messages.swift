// All messages of the service's protocol, both directions. Clients use the parsers, the server the encoders.

/// Why a reply is not understood. Such a reply never counts as an answer.
public enum MessageError: Error, Equatable, Sendable {
  case json(JSONError)
  /// A member is missing or has another type.
  case member(String)
  /// The flat and the nested form of one reply disagree.
  case contradiction(String)
  /// The service refused, and perhaps says why.
  case refused(reason: String?)
}

/// The query item with the body's digest (an extension that services may ignore).
///
/// A request's signature covers its query but not its body. Without the digest an intermediary could change what the
/// phone shows, which users are added, or the phone number that receives a link.
public enum BodyDigest {
  public static let name = "body_sha256"

  /// SHA-256 of a body as sent, in lower-case hexadecimal.
  public static func value(of body: [UInt8]) -> String { Digest.hexadecimal(Digest.sha256(body)) }

  public static func item(for body: [UInt8]) -> (String, String) { (name, value(of: body)) }
}

/// The body of `authenticate_user`.
public struct StartRequest: Sendable, Equatable {
  public var context: SignInContext?
  /// An identifier of the computer's current boot, 1–64 bytes. The service ends sessions that the same host credential
  /// opened before that boot.
  public var bootID: String?

  private static let bootIDLengths = 1...64

  public init(context: SignInContext?, bootID: String? = nil) {
    self.context = context
    self.bootID = bootID
  }

  public func encoded() -> [UInt8] {
    JSON.object(["context": context?.json, "boot_id": bootID.map { .string($0) }]).encoded()
  }

  /// Reads an empty body as an empty request.
  public init(parsing body: [UInt8]) throws(MessageError) {
    if body.isEmpty {
      self.init(context: nil)
      return
    }
    let json = try JSON.reading(body)
    guard case .object = json else { throw .member("body") }
    let bootID = try Self.bootID(in: json)
    guard let value = json["context"] else {
      self.init(context: nil, bootID: bootID)
      return
    }
    let context = try SignInContext(value)
    // A trailing space in a name is invisible. Only new requests are refused for it: stored contexts stay readable.
    guard !context.further.contains(where: { $0.name.hasSuffix(" ") }) else { throw .member("context") }
    self.init(context: context, bootID: bootID)
  }

  private static func bootID(in json: JSON) throws(MessageError) -> String? {
    switch json["boot_id"] {
    case nil, .null: return nil
    case .string(let text) where bootIDLengths.contains(text.utf8.count): return text
    default: throw .member("boot_id")
    }
  }
}

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

/// What a client needs to follow and end a started session. The addresses are as received: nobody has compared their
/// origin yet.
public struct StartedSession: Sendable, Equatable {
  public let status: SessionStatus
  public let statusURL: String
  public let logoutURL: String
  public let token: Secret
  public let secret: Secret
  /// Two digits that the terminal shows and the phone asks for.
  public let matchCode: String?
  /// The page on which the user finds the request if the phone does not ring.
  public let phonePage: String?
  /// The session's name in every later reply, 1–128 bytes; nil if the service does not name sessions.
  ///
  /// A reply's signature covers the request's nonce, and every owner of a session chooses their own nonces. Without a
  /// signed name an attacker could forward the reply about their session as the reply about another session.
  public let name: String?

  private static let nameLengths = 1...128

  public init(
    status: SessionStatus, statusURL: String, logoutURL: String, token: Secret, secret: Secret, matchCode: String?,
    phonePage: String? = nil, name: String? = nil
  ) {
    self.status = status
    self.statusURL = statusURL
    self.logoutURL = logoutURL
    self.token = token
    self.secret = secret
    self.matchCode = matchCode
    self.phonePage = phonePage
    self.name = name
  }

  fileprivate init(_ reply: JSON) throws(MessageError) {
    func text(_ name: String) throws(MessageError) -> String {
      guard let value = reply[name]?.string, !value.isEmpty else { throw .member(name) }
      return value
    }
    status = SessionStatus(word: try text("session_status"))
    statusURL = try text("status_url")
    logoutURL = try text("logout_url")
    token = Secret(try text("session_token"))
    secret = Secret(try text("session_secret"))
    switch reply["match_code"] {
    case nil, .null: matchCode = nil
    case .string(let digits) where digits.utf8.count == 2 && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }:
      matchCode = digits
    default: throw .member("match_code")
    }
    // This is only a hint. A malformed value does not stop the sign-in.
    phonePage = reply["phone_page"]?.string
    name = reply["session_name"]?.string.flatMap { Self.nameLengths.contains($0.utf8.count) ? $0 : nil }
  }

  fileprivate var json: JSON {
    .object([
      "authenticated": .bool(true), "session_status": .string(status.word), "reason": .null,
      "status_url": .string(statusURL), "logout_url": .string(logoutURL),
      "session_token": .string(token.exposedValue), "session_secret": .string(secret.exposedValue),
      "match_code": matchCode.map { .string($0) }, "phone_page": phonePage.map { .string($0) },
      "session_name": name.map { .string($0) },
    ])
  }
}

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

  public init(status: SessionStatus, authenticated: Bool?, reason: String?, session: String? = nil) {
    self.status = status
    self.authenticated = authenticated
    self.reason = reason
    self.session = session
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
    return JSON.object(flat + name + [JSON.Member("authentication_status", .object(flat))]).encoded()
  }
}

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

/// The body of `add_users` and `delete_users`.
public struct UsersRequest: Sendable, Equatable {
  public let users: [String]

  public init(users: [String]) { self.users = users }

  public init(parsing body: [UInt8]) throws(MessageError) {
    guard let items = try JSON.reading(body)["users"]?.array else { throw .member("users") }
    var users: [String] = []
    for item in items {
      guard let user = item.string else { throw .member("users") }
      users.append(user)
    }
    self.init(users: users)
  }

  public func encoded() -> [UInt8] {
    JSON.object(["users": .array(users.map { .string($0) })]).encoded()
  }
}

/// The reply of `add_users`.
public struct AddUsersReply: Sendable, Equatable {
  public let created: [String]
  public let existing: [String]

  public init(created: [String], existing: [String]) {
    self.created = created
    self.existing = existing
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    guard let users = json["users"] else { throw .member("users") }
    func names(_ name: String) throws(MessageError) -> [String] {
      guard let value = users[name], value != .null else { return [] }
      guard let items = value.array else { throw .member(name) }
      return items.compactMap(\.string)
    }
    self.init(created: try names("created"), existing: try names("existing"))
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true),
      "users": .object([
        "created": .array(created.map { .string($0) }), "existing": .array(existing.map { .string($0) }),
      ]),
    ]).encoded()
  }
}

/// The reply of `device_registration_link` and `lost_user_mobile_device`.
public struct RegistrationLinkReply: Sendable, Equatable {
  public let registerURL: String

  public init(registerURL: String) { self.registerURL = registerURL }

  public init(parsing body: [UInt8]) throws(MessageError) {
    guard let link = try JSON.acknowledged(body)["register_url"]?.string else { throw .member("register_url") }
    self.init(registerURL: link)
  }

  /// - Parameter endedSessions: see ``LostDeviceSessions``.
  public func encoded(endedSessions: Int64? = nil) -> [UInt8] {
    JSON.object([
      "status": .bool(true), "register_url": .string(registerURL),
      LostDeviceSessions.endedName: endedSessions.map { .integer($0) },
    ]).encoded()
  }
}

/// The reply for a client that asks for a sealed link (an extension that services may ignore).
public enum SealedLinkReply: Sendable, Equatable {
  /// The query item that asks for a sealed link. The signature covers it, so that an intermediary cannot remove it.
  public static let query = (name: "sealed", value: "1")

  /// In ``LinkSeal``'s form.
  case sealed(String)
  /// From a service that does not seal links.
  case plain(String)

  /// - Throws: ``MessageError/contradiction(_:)`` if the reply has both forms.
  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    switch (json["sealed_register_url"], json["register_url"]) {
    case (.string(let text)?, nil): self = .sealed(text)
    case (nil, .string(let link)?): self = .plain(link)
    case (nil, _): throw .member("register_url")
    case (_, nil): throw .member("sealed_register_url")
    case (_, _): throw .contradiction("register_url")
    }
  }

  /// - Parameter endedSessions: see ``LostDeviceSessions``.
  public func encoded(endedSessions: Int64? = nil) -> [UInt8] {
    switch self {
    case .sealed(let text):
      JSON.object([
        "status": .bool(true), "sealed_register_url": .string(text),
        LostDeviceSessions.endedName: endedSessions.map { .integer($0) },
      ]).encoded()
    case .plain(let link): RegistrationLinkReply(registerURL: link).encoded(endedSessions: endedSessions)
    }
  }
}

/// The option that makes `lost_user_mobile_device` also end the user's sessions (an extension that services may
/// ignore). The signature covers it. Without it sessions go on, as with the published clients.
public struct LostDeviceSessions: Sendable, Equatable {
  /// The greatest number of ids.
  public static let greatestKept = 64
  /// The reply's member with the number of ended sessions. Other services do not send it.
  static let endedName = "sessions_ended"
  private static let endName = "end_sessions"
  private static let keepName = "keep_sessions"
  private static let idCharacters = Set("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

  /// Ids of sessions that go on, see ``StartedSession/name``.
  public let kept: [String]

  /// - Parameter kept: ids of sessions that go on. Malformed ids are left out, since no session has them.
  public init(kept: [String]) {
    self.kept = kept.filter { !$0.isEmpty && $0.utf8.count <= 64 && $0.utf8.allSatisfy(Self.idCharacters.contains) }
  }

  public enum Asked: Sendable, Equatable {
    case no
    case yes(LostDeviceSessions)
    /// The option has a value that this version does not know.
    case unclear
  }

  /// - Parameter query: the decoded items of a request's query.
  public static func asked(in query: [(name: String, value: String)]) -> Asked {
    let ends = query.filter { $0.name == endName }.map(\.value)
    let keeps = query.filter { $0.name == keepName }.map(\.value)
    if ends.isEmpty, keeps.isEmpty { return .no }
    guard ends == ["1"], keeps.count <= 1 else { return .unclear }
    let ids = (keeps.first ?? "").split(separator: ",").map(String.init)
    let sessions = LostDeviceSessions(kept: ids)
    return sessions.kept == ids && ids.count <= greatestKept ? .yes(sessions) : .unclear
  }

  /// The items of a request's query.
  public var query: [(String, String)] {
    [(Self.endName, "1")] + (kept.isEmpty ? [] : [(Self.keepName, kept.joined(separator: "%2C"))])
  }

  /// The number of sessions that a reply reports as ended; nil if the service left sessions alone.
  public static func ended(in body: [UInt8]) throws(MessageError) -> Int64? {
    try JSON.acknowledged(body)[endedName]?.integer
  }
}

/// The reply of `has_registered_mobile_device`.
public struct DeviceRegisteredReply: Sendable, Equatable {
  public let isRegistered: Bool

  public init(isRegistered: Bool) { self.isRegistered = isRegistered }

  public init(parsing body: [UInt8]) throws(MessageError) {
    guard let value = try JSON.acknowledged(body)["device_registered"]?.bool else { throw .member("device_registered") }
    self.init(isRegistered: value)
  }

  public func encoded() -> [UInt8] {
    JSON.object(["status": .bool(true), "device_registered": .bool(isRegistered)]).encoded()
  }
}

/// The body of `send_registration_sms` (published client only).
public struct RegistrationMessageRequest: Sendable, Equatable {
  public let phoneNumber: String
  public let displayName: String?
  public let message: String?

  public init(phoneNumber: String, displayName: String? = nil, message: String? = nil) {
    self.phoneNumber = phoneNumber
    self.displayName = displayName
    self.message = message
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard let number = json["phone_number"]?.string else { throw .member("phone_number") }
    self.init(
      phoneNumber: number, displayName: json["display_name"]?.string, message: json["message"]?.string)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "phone_number": .string(phoneNumber), "display_name": displayName.map { .string($0) },
      "message": message.map { .string($0) },
    ]).encoded()
  }
}

/// What `GET /.well-known/iampass` announces. All false for a service without that page.
public struct ServiceAnnouncement: Sendable, Equatable {
  public static let path = "/.well-known/iampass"

  public var signedReplies: Bool
  public var context: Bool
  public var preferWait: Bool
  public var matchCode: Bool
  public var hostCredentials: Bool
  /// Replies about a session name it. A start's signed address may carry the digest of its body.
  public var sessionNames: Bool
  /// Replies also carry the signature that covers what was requested.
  public var signedTargets: Bool
  /// The signed address of every route may carry the body's digest.
  public var bodyDigests: Bool
  /// The service seals registration links on request.
  public var sealedLinks: Bool

  public init(
    signedReplies: Bool = false, context: Bool = false, preferWait: Bool = false, matchCode: Bool = false,
    hostCredentials: Bool = false, sessionNames: Bool = false, signedTargets: Bool = false, bodyDigests: Bool = false,
    sealedLinks: Bool = false
  ) {
    self.signedReplies = signedReplies
    self.context = context
    self.preferWait = preferWait
    self.matchCode = matchCode
    self.hostCredentials = hostCredentials
    self.sessionNames = sessionNames
    self.signedTargets = signedTargets
    self.bodyDigests = bodyDigests
    self.sealedLinks = sealedLinks
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    func has(_ name: String) -> Bool { json[name]?.bool ?? false }
    self.init(
      signedReplies: has("signed_replies"), context: has("context"), preferWait: has("prefer_wait"),
      matchCode: has("match_code"), hostCredentials: has("host_credentials"),
      sessionNames: has("session_names"), signedTargets: has("signed_targets"), bodyDigests: has("body_digests"),
      sealedLinks: has("sealed_links"))
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "signed_replies": .bool(signedReplies), "context": .bool(context), "prefer_wait": .bool(preferWait),
      "match_code": .bool(matchCode), "host_credentials": .bool(hostCredentials),
      "session_names": .bool(sessionNames), "signed_targets": .bool(signedTargets),
      "body_digests": .bool(bodyDigests), "sealed_links": .bool(sealedLinks),
    ]).encoded()
  }
}

extension JSON {
  fileprivate static func reading(_ body: [UInt8]) throws(MessageError) -> JSON {
    do { return try JSON(parsing: body) } catch { throw .json(error) }
  }

  /// Reads a reply and requires that its `status` is true.
  fileprivate static func acknowledged(_ body: [UInt8]) throws(MessageError) -> JSON {
    let json = try reading(body)
    guard let status = json["status"]?.bool else { throw .member("status") }
    guard status else { throw .refused(reason: json["reason"]?.string) }
    return json
  }
}
