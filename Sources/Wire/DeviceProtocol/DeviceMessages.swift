import IAMPASSProtocol

// The messages under /device/v1/, in both directions. DeviceStatements.swift has the statements that a phone signs.

/// Paths of the phone's protocol, below the service's address.
public enum DeviceRoute {
  public static let register = ["device", "v1", "register"]
  public static let requests = ["device", "v1", "requests"]
  public static let answer = ["device", "v1", "answer"]
  public static let presence = ["device", "v1", "presence"]
  public static let status = ["device", "v1", "status"]
  public static let credential = ["device", "v1", "credential"]
  public static let end = ["device", "v1", "end"]
  public static let unregister = ["device", "v1", "unregister"]
  public static let push = ["device", "v1", "push"]
  public static let pushKey = ["device", "v1", "push-key"]
  public static let events = ["device", "v1", "events"]
  public static let look = ["device", "v1", "look"]
  public static let face = ["device", "v1", "face"]
  public static let document = ["device", "v1", "document"]
}

/// The body of `POST /device/v1/register`.
public struct RegisterRequest: Sendable, Equatable {
  /// The code of the registration link.
  public let code: Secret
  /// ``DevicePublicKey/text``.
  public let publicKey: String
  /// The credential for the method `device`. Its challenge is ``CredentialChallenge/bytes(for:publicKey:)`` with the
  /// code.
  public let credential: UnverifiedCredential?
  /// ``PhoneKeys/pinMAC(secret:origin:link:)`` of these keys, if the link has a secret. The service cannot check it.
  public let pinMAC: String?
  /// How to ring the phone (member `subscription`); nil: it is not rung.
  public let way: PushWay?
  /// The user's name for the phone, which distinguishes it from the user's other phones; nil: the service chooses one.
  public let name: String?

  public init(
    code: Secret, publicKey: String, credential: UnverifiedCredential? = nil, pinMAC: String? = nil,
    way: PushWay? = nil, name: String? = nil
  ) {
    self.code = code
    self.publicKey = publicKey
    self.credential = credential
    self.pinMAC = pinMAC
    self.way = way
    self.name = name
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    self.init(
      code: Secret(try json.text("code")), publicKey: try json.text("public_key"),
      credential: try json.optional("credential", UnverifiedCredential.init), pinMAC: try json.pinMAC,
      way: try json.optional("subscription", PushWay.init), name: json["name"]?.string)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "code": .string(code.exposedValue), "public_key": .string(publicKey), "credential": credential?.json,
      "pin_mac": pinMAC.map { .string($0) }, "subscription": way?.json,
      "name": name.map { .string($0) },
    ]).encoded()
  }
}

/// The reply to a registration.
public struct RegisterReply: Sendable, Equatable {
  /// The phone's id from now on.
  public let device: String
  public let application: String
  /// The application's name for the user, or "user".
  public let user: String
  /// The methods that this phone supports, the weakest first.
  public let methods: [AuthenticationMethod]

  public init(device: String, application: String, user: String, methods: [AuthenticationMethod] = [.acceptance]) {
    self.device = device
    self.application = application
    self.user = user
    self.methods = methods
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    self.init(
      device: try json.text("device"), application: try json.text("application"), user: try json.text("user"),
      methods: json.methods)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "device": .string(device), "application": .string(application), "user": .string(user),
      "methods": .methods(methods),
    ]).encoded()
  }
}

/// The reply to `GET /register/CODE`: the user for whom the link registers a phone.
public struct LinkReply: Sendable, Equatable {
  public let application: String
  public let user: String
  public let secondsLeft: Int64

  public init(application: String, user: String, secondsLeft: Int64) {
    self.application = application
    self.user = user
    self.secondsLeft = secondsLeft
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    self.init(
      application: try json.text("application"), user: try json.text("user"),
      secondsLeft: try json.number("seconds_left"))
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "application": .string(application), "user": .string(user),
      "seconds_left": .integer(secondsLeft),
    ]).encoded()
  }
}

/// A session that a phone of this user approved and that is still live.
public struct LiveSession: Sendable, Equatable {
  public let session: String
  public let status: SessionStatus
  /// Unix time in seconds of the approval.
  public let since: Int64
  /// Unix time in seconds at which the session expires.
  public let expires: Int64
  public let context: SignInContext
  /// The user's other phone that approved it (member `approved_on`); nil if this phone did.
  public let approvedOn: String?

  public init(
    session: String, status: SessionStatus, since: Int64, expires: Int64, context: SignInContext,
    approvedOn: String? = nil
  ) {
    self.session = session
    self.status = status
    self.since = since
    self.expires = expires
    self.context = context
    self.approvedOn = approvedOn
  }

  init(_ json: JSON) throws(MessageError) {
    guard let context = json["context"] else { throw .member("context") }
    self.init(
      session: try json.text("session"), status: SessionStatus(word: try json.text("session_status")),
      since: try json.number("since"), expires: try json.number("expires"), context: try SignInContext(context),
      approvedOn: json["approved_on"]?.string)
  }

  public var json: JSON {
    .object([
      "session": .string(session), "session_status": .string(status.word), "since": .integer(since),
      "expires": .integer(expires), "context": context.json, "approved_on": approvedOn.map { .string($0) },
    ])
  }
}

/// One of the user's phones.
public struct ListedPhone: Sendable, Equatable {
  public let name: String
  /// Unix time in seconds of its registration.
  public let since: Int64
  /// Whether this is the phone that receives the reply.
  public let isThis: Bool

  public init(name: String, since: Int64, isThis: Bool) {
    self.name = name
    self.since = since
    self.isThis = isThis
  }

  init(_ json: JSON) throws(MessageError) {
    self.init(name: try json.text("name"), since: try json.number("since"), isThis: json["this"]?.bool ?? false)
  }

  var json: JSON { .object(["name": .string(name), "since": .integer(since), "this": .bool(isThis)]) }
}

/// A sign-in that an administrator's phone approved for this user.
public struct ApprovedByLocum: Sendable, Equatable {
  /// The administrator's name, as this phone shows it.
  public let name: String
  /// Unix time in seconds.
  public let at: Int64
  public let context: SignInContext

  public init(name: String, at: Int64, context: SignInContext) {
    self.name = name
    self.at = at
    self.context = context
  }

  init(_ json: JSON) throws(MessageError) {
    guard let context = json["context"] else { throw .member("context") }
    self.init(name: try json.text("name"), at: try json.number("at"), context: try SignInContext(context))
  }

  var json: JSON { .object(["name": .string(name), "at": .integer(at), "context": context.json]) }
}

/// Whether the phone is with its user.
public enum Presence: String, Sendable, CaseIterable {
  case present
  case away
}

/// The reply to `status`, and to each change of what the phone shows of its user, such as presence.
public struct DeviceStatusReply: Sendable, Equatable {
  public let application: String
  public let user: String
  public let presence: Presence
  public let sessions: [LiveSession]
  /// The methods that this phone supports, the weakest first.
  public let methods: [AuthenticationMethod]
  /// Whether sessions become `walkaway` when the phone leaves (member `walkaway`). Otherwise they stay active, whatever
  /// presence the phone reports. True if an older service does not send it.
  public let walksAway: Bool
  /// `training_required`: methods that a computer asked for and the phone lacks; empty from an older service.
  public let training: [AuthenticationMethod]
  /// Codes of the user that were lately used (member `codes_used`), the newest first; empty from an older service.
  public let codesUsed: [CodeUseReport]
  /// The user's phones, the oldest first; empty from an older service.
  public let phones: [ListedPhone]
  /// What administrators lately approved for the user (member `by_locums`), the oldest first. Not sent if empty.
  public let byLocums: [ApprovedByLocum]

  public init(
    application: String, user: String, presence: Presence, sessions: [LiveSession],
    methods: [AuthenticationMethod] = [.acceptance], walksAway: Bool = true, training: [AuthenticationMethod] = [],
    codesUsed: [CodeUseReport] = [],
    phones: [ListedPhone] = [], byLocums: [ApprovedByLocum] = []
  ) {
    self.application = application
    self.user = user
    self.presence = presence
    self.sessions = sessions
    self.methods = methods
    self.walksAway = walksAway
    self.training = training
    self.codesUsed = codesUsed
    self.phones = phones
    self.byLocums = byLocums
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard let items = json["sessions"]?.array else { throw .member("sessions") }
    guard let presence = Presence(rawValue: try json.text("presence")) else { throw .member("presence") }
    var sessions: [LiveSession] = []
    for item in items { sessions.append(try LiveSession(item)) }
    var phones: [ListedPhone] = []
    for item in json["phones"]?.array ?? [] { phones.append(try ListedPhone(item)) }
    var byLocums: [ApprovedByLocum] = []
    for item in json["by_locums"]?.array ?? [] { byLocums.append(try ApprovedByLocum(item)) }
    self.init(
      application: try json.text("application"), user: try json.text("user"), presence: presence, sessions: sessions,
      methods: json.methods, walksAway: json["walkaway"]?.bool ?? true, training: json.training,
      codesUsed: json.codesUsed,
      phones: phones, byLocums: byLocums)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "application": .string(application), "user": .string(user),
      "presence": .string(presence.rawValue), "sessions": .array(sessions.map(\.json)),
      "methods": .methods(methods), "walkaway": .bool(walksAway),
      "training_required": .methods(training), "codes_used": .array(codesUsed.map(\.json)),
      "phones": .array(phones.map(\.json)),
      "by_locums": byLocums.isEmpty ? nil : .array(byLocums.map(\.json)),
    ]).encoded()
  }
}
