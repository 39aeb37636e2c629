import IAMPASSProtocol

/// A sign-in that waits for this phone's answer.
public struct OpenRequest: Sendable, Equatable {
  public let session: String
  /// The answer must sign it.
  public let nonce: String
  /// Unix time in seconds by the service's clock. The answer must sign it.
  public let expires: Int64
  /// The time left, for display only: the phone's clock may differ from the service's.
  public let secondsLeft: Int64
  public let context: SignInContext
  /// What an approval must prove.
  public let method: AuthenticationMethod
  /// Whether the user must type the two digits that the terminal shows. The phone never receives the digits.
  public let asksCode: Bool
  /// If ``method`` is `device`, the id of the credential that must sign, as base64url.
  public let credential: String?
  /// How many more requests the same source made while this one was open; nil if the service does not count. A large
  /// number means that someone is flooding the phone.
  public let blocked: Int64?
  /// The challenge, which the answer must sign; nil if the computer sent none.
  public let challenge: ApprovalChallenge?
  /// Whether this phone's user is asked as a locum (member `for_another`), for a user who has no phone at hand.
  public let isForAnother: Bool
  /// The kind of the document to sign (member `document`, see ``SignedDocument/Kind``). Nil for a sign-in; empty if the
  /// member is malformed.
  public let document: String?

  public init(
    session: String, nonce: String, expires: Int64, secondsLeft: Int64, context: SignInContext,
    method: AuthenticationMethod = .acceptance, asksCode: Bool = false, credential: String? = nil,
    blocked: Int64? = nil, challenge: ApprovalChallenge? = nil, isForAnother: Bool = false, document: String? = nil
  ) {
    self.session = session
    self.nonce = nonce
    self.expires = expires
    self.secondsLeft = secondsLeft
    self.context = context
    self.method = method
    self.asksCode = asksCode
    self.credential = credential
    self.blocked = blocked
    self.challenge = challenge
    self.isForAnother = isForAnother
    self.document = document
  }

  /// Whether the request names a document, or has the service name of documents. An approval must then show it.
  public var isForDocument: Bool { document != nil || SignedDocument.isAsked(by: context) }

  init(_ json: JSON) throws(MessageError) {
    guard let context = json["context"] else { throw .member("context") }
    self.init(
      session: try json.text("session"), nonce: try json.text("nonce"), expires: try json.number("expires"),
      secondsLeft: try json.number("seconds_left"), context: try SignInContext(context),
      method: try json.method("method"), asksCode: json["match_code"]?.bool ?? false,
      credential: json["credential"]?.string, blocked: json["blocked"]?.integer,
      challenge: try ApprovalChallenge.member(of: json), isForAnother: json["for_another"]?.bool ?? false,
      document: try json.optional("document") { $0["kind"]?.string ?? "" })
  }

  var json: JSON {
    .object([
      "session": .string(session), "nonce": .string(nonce), "expires": .integer(expires),
      "seconds_left": .integer(secondsLeft), "context": context.json, "method": .string(method.rawValue),
      "match_code": .bool(asksCode), "credential": credential.map { .string($0) },
      "blocked": blocked.map { .integer($0) }, ApprovalChallenge.name: challenge.map { .string($0.text) },
      "for_another": isForAnother ? .bool(true) : nil,
      "document": document.map { .object(["kind": .string($0)]) },
    ])
  }
}

/// A request that another phone of the user has answered.
public struct AnsweredElsewhere: Sendable, Equatable {
  public let session: String
  /// False if it was denied.
  public let isApproved: Bool
  /// The user's name for the phone that answered.
  public let phone: String
  public let context: SignInContext

  public init(session: String, isApproved: Bool, phone: String, context: SignInContext) {
    self.session = session
    self.isApproved = isApproved
    self.phone = phone
    self.context = context
  }

  init(_ json: JSON) throws(MessageError) {
    guard let context = json["context"], let isApproved = json["approved"]?.bool else { throw .member("answered") }
    self.init(
      session: try json.text("session"), isApproved: isApproved, phone: try json.text("phone"),
      context: try SignInContext(context))
  }

  var json: JSON {
    .object([
      "session": .string(session), "approved": .bool(isApproved), "phone": .string(phone), "context": context.json,
    ])
  }
}

/// The reply to a listing.
public struct RequestsReply: Sendable, Equatable {
  /// The oldest first.
  public let requests: [OpenRequest]
  /// `training_required`: methods that a computer asked for and the phone lacks; empty from an older service.
  public let training: [AuthenticationMethod]
  /// See ``DeviceStatusReply/codesUsed``.
  public let codesUsed: [CodeUseReport]
  /// Requests that another phone of the user has answered a moment ago. Not sent if empty.
  public let answered: [AnsweredElsewhere]

  public init(
    requests: [OpenRequest], training: [AuthenticationMethod] = [], codesUsed: [CodeUseReport] = [],
    answered: [AnsweredElsewhere] = []
  ) {
    self.requests = requests
    self.training = training
    self.codesUsed = codesUsed
    self.answered = answered
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard let items = json["requests"]?.array else { throw .member("requests") }
    var requests: [OpenRequest] = []
    for item in items { requests.append(try OpenRequest(item)) }
    var answered: [AnsweredElsewhere] = []
    for item in json["answered"]?.array ?? [] { answered.append(try AnsweredElsewhere(item)) }
    self.init(requests: requests, training: json.training, codesUsed: json.codesUsed, answered: answered)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "requests": .array(requests.map(\.json)), "training_required": .methods(training),
      "codes_used": .array(codesUsed.map(\.json)),
      "answered": answered.isEmpty ? nil : .array(answered.map(\.json)),
    ]).encoded()
  }
}

extension JSON {
  /// The member `training_required`. Methods that this version does not know are left out.
  var training: [AuthenticationMethod] {
    (self["training_required"]?.array ?? []).compactMap { $0.string.flatMap(AuthenticationMethod.init(rawValue:)) }
  }
}
