/// What the user decided.
public enum DeviceAnswer: String, Sendable, CaseIterable {
  case approve
  case deny
  /// Deny, and block the source of the request for a while: someone else made it.
  case notMe = "not_me"
  /// This phone cannot prove what the request asks for.
  case unable
}

/// Signed by the phone: "I, this phone, was shown this request, and the user said this".
public struct AnswerStatement: Sendable, Equatable {
  public let origin: String
  public let device: String
  /// The request's id.
  public let session: String
  public let answer: DeviceAnswer
  /// ``ShownContext/hash`` of the context that the phone showed.
  public let contextHash: String
  /// The service's own nonce for this request.
  public let nonce: String
  /// Unix time in seconds after which the service refuses the answer. The service chose it for this request.
  public let expires: Int64
  /// The method that the request asked for.
  public let method: AuthenticationMethod
  /// The digits that the user typed; empty if the request did not ask for digits.
  public let code: String
  /// The request's challenge; nil if the request has none.
  public let challenge: ApprovalChallenge?
  /// The phone's public key for agreement, as base64 of its `SubjectPublicKeyInfo`; nil if the phone has none. With it
  /// the computer can check the phone's digits when there is no network.
  public let agreementKey: String?
  /// The digest of the ``SignedDocument``, in hexadecimal, which this phone computed from what it showed. Nil for a
  /// sign-in, and from a phone that does not support documents.
  public let document: String?

  public init(
    origin: String, device: String, session: String, answer: DeviceAnswer, contextHash: String, nonce: String,
    expires: Int64, method: AuthenticationMethod = .acceptance, code: String = "", challenge: ApprovalChallenge? = nil,
    agreementKey: String? = nil, document: String? = nil
  ) {
    self.origin = origin
    self.device = device
    self.session = session
    self.answer = answer
    self.contextHash = contextHash
    self.nonce = nonce
    self.expires = expires
    self.method = method
    self.code = code
    self.challenge = challenge
    self.agreementKey = agreementKey
    self.document = document
  }

  public var json: JSON {
    .object([
      "origin": .string(origin), "device": .string(device), "session": .string(session),
      "answer": .string(answer.rawValue), "context_hash": .string(contextHash), "nonce": .string(nonce),
      "expires": .integer(expires), "method": .string(method.rawValue), "code": .string(code),
      "purpose": .string("answer"), ApprovalChallenge.name: challenge.map { .string($0.text) },
      "agreement_key": agreementKey.map { .string($0) },
      "document": document.map { .string($0) },
    ])
  }

  public init(_ json: JSON) throws(MessageError) {
    guard json["purpose"]?.string == "answer" else { throw .member("purpose") }
    origin = try json.text("origin")
    device = try json.text("device")
    session = try json.text("session")
    guard let answer = DeviceAnswer(rawValue: try json.text("answer")) else { throw .member("answer") }
    self.answer = answer
    contextHash = try json.text("context_hash")
    nonce = try json.text("nonce")
    expires = try json.number("expires")
    // Phones of older versions send neither a method nor a code.
    method = try json.method("method")
    code = json["code"]?.string ?? ""
    challenge = try ApprovalChallenge.member(of: json)
    agreementKey = json["agreement_key"]?.string
    document = try json.optional("document") { (value) throws(MessageError) in
      guard let text = value.string else { throw .member("document") }
      return text
    }
  }
}
