import IAMPASSProtocol

/// What a phone asks for in its own name.
public enum DevicePurpose: String, Sendable, CaseIterable {
  /// List the open requests.
  case requests
  /// The phone leaves: its sessions walk away.
  case leave
  /// The phone is back: its sessions are active again.
  case `return`
  /// What this phone is registered for.
  case status
}

/// What the user decided.
public enum DeviceAnswer: String, Sendable, CaseIterable {
  case approve
  case deny
}

/// Signed by the phone: "I, this phone, ask this service for this, now, once".
public struct DeviceAsk: Sendable, Equatable {
  /// Requests that the phone already shows; a listing is held while nothing else is open. At most this many are read.
  public static let greatestKnownCount = 50

  /// Scheme, host and port of the service, as the phone knows it: an ask for one service is worth nothing at another.
  public let origin: String
  public let device: String
  public let purpose: DevicePurpose
  /// Unix time in seconds, by the phone's clock.
  public let timestamp: Int64
  /// 32 hexadecimal digits, never used again.
  public let nonce: String
  public let known: [String]

  public init(
    origin: String, device: String, purpose: DevicePurpose, timestamp: Int64, nonce: String, known: [String] = []
  ) {
    self.origin = origin
    self.device = device
    self.purpose = purpose
    self.timestamp = timestamp
    self.nonce = nonce
    self.known = known
  }

  public var json: JSON {
    .object([
      "origin": .string(origin), "device": .string(device), "purpose": .string(purpose.rawValue),
      "timestamp": .integer(timestamp), "nonce": .string(nonce), "known": .array(known.map { .string($0) }),
    ])
  }

  public init(_ json: JSON) throws(MessageError) {
    origin = try json.text("origin")
    device = try json.text("device")
    guard let purpose = DevicePurpose(rawValue: try json.text("purpose")) else { throw .member("purpose") }
    self.purpose = purpose
    timestamp = try json.number("timestamp")
    nonce = try json.text("nonce")
    known = (json["known"]?.array ?? []).prefix(Self.greatestKnownCount).compactMap(\.string)
  }
}

/// Signed by the phone: "I, this phone, was shown this request, and the user said this".
public struct AnswerStatement: Sendable, Equatable {
  public let origin: String
  public let device: String
  /// The request's id.
  public let session: String
  public let answer: DeviceAnswer
  /// ``ShownContext/hash`` of what the phone showed.
  public let contextHash: String
  /// The service's own nonce for this request.
  public let nonce: String
  /// Unix time in seconds after which the answer is worth nothing; the service's own for this request.
  public let expires: Int64

  public init(
    origin: String, device: String, session: String, answer: DeviceAnswer, contextHash: String, nonce: String,
    expires: Int64
  ) {
    self.origin = origin
    self.device = device
    self.session = session
    self.answer = answer
    self.contextHash = contextHash
    self.nonce = nonce
    self.expires = expires
  }

  public var json: JSON {
    .object([
      "origin": .string(origin), "device": .string(device), "session": .string(session),
      "answer": .string(answer.rawValue), "context_hash": .string(contextHash), "nonce": .string(nonce),
      "expires": .integer(expires), "purpose": .string("answer"),
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
  }
}

/// What a phone shows of a sign-in, in the order received.
public enum ShownContext {
  /// 64 hexadecimal digits: SHA-256 of the context's canonical JSON.
  public static func hash(_ context: SignInContext) -> String {
    Digest.hexadecimal(Digest.sha256(context.json.canonicallyEncoded()))
  }
}

/// A body `{"statement": {...}, "signature": "..."}`: the signature is over the statement's canonical JSON. As received,
/// nothing is verified.
public struct UnverifiedStatement: Sendable, Equatable {
  public let statement: JSON
  public let signature: String

  /// The id of the phone that is said to have signed.
  public var device: String? { statement["device"]?.string }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.readingMessage(body)
    guard let statement = json["statement"], case .object = statement else { throw .member("statement") }
    self.statement = statement
    signature = try json.text("signature")
  }

  /// Whether the owner of `key` signed this.
  public func isMade(by key: DevicePublicKey) -> Bool {
    guard let raw = Base64.decode(signature) else { return false }
    return key.verifies(raw, over: statement.canonicallyEncoded())
  }

  /// A body with `statement`, signed.
  public static func body(signing statement: JSON, with key: DeviceKey) throws(DeviceKeyError) -> [UInt8] {
    let signature = try key.signature(over: statement.canonicallyEncoded())
    return JSON.object(["statement": statement, "signature": .string(Base64.encode(signature))]).encoded()
  }
}

extension JSON {
  static func readingMessage(_ body: [UInt8]) throws(MessageError) -> JSON {
    do { return try JSON(parsing: body) } catch { throw .json(error) }
  }

  func text(_ name: String) throws(MessageError) -> String {
    guard let value = self[name]?.string, !value.isEmpty else { throw .member(name) }
    return value
  }

  func number(_ name: String) throws(MessageError) -> Int64 {
    guard let value = self[name]?.integer else { throw .member(name) }
    return value
  }
}
