import IAMPASSProtocol

/// What a phone asks for on its own behalf.
public enum DevicePurpose: String, Sendable, CaseIterable {
  /// List the open requests.
  case requests
  /// The phone leaves: its sessions walk away.
  case leave
  /// The phone is back: its sessions are active again.
  case `return`
  /// Ask which user this phone is registered for.
  case status
  /// Add or replace the credential for the method `device`: ``CredentialStatement``.
  case credential
  /// End sessions of this phone's user: ``EndStatement``.
  case end
  /// Unregister this phone.
  case unregister
  /// Set how the phone is rung while its page is closed: ``PushStatement``.
  case push
  /// Open a stream of changes.
  case events
  /// Say that the phone's page is in view.
  case look
  /// This app recognizes its user's face, and vouches for it from now on: the method `facial`.
  case face
  /// This app no longer vouches for its user's face.
  case noFace = "no_face"
  /// Fetch the document that a request asks an administrator to sign: ``DocumentAsk``.
  case document
}

/// Signed by the phone: "I, this phone, ask this service for this, now, once".
public struct DeviceAsk: Sendable, Equatable {
  /// The greatest number of known requests. A listing is held while only requests are open that the phone already
  /// shows.
  public static let greatestKnownCount = 50

  /// Scheme, host and port of the service, as the phone knows it. Another service refuses the ask.
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

  func json(with more: KeyValuePairs<String, JSON>) -> JSON {
    guard case .object(let members) = json else { preconditionFailure("an ask is an object") }
    return .object(members + more.map { JSON.Member($0.key, $0.value) })
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

/// A body `{"statement": {...}, "signature": "..."}`. The signature covers the statement's canonical JSON. As received,
/// nothing is verified.
public struct UnverifiedStatement: Sendable, Equatable {
  public let statement: JSON
  public let signature: String
  /// Comes with an approval by the method `device`.
  public let assertion: UnverifiedAssertion?

  /// The id of the phone that claims to have signed.
  public var device: String? { statement["device"]?.string }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard let statement = json["statement"], case .object = statement else { throw .member("statement") }
    self.statement = statement
    signature = try json.text("signature")
    assertion = try json.optional("assertion", UnverifiedAssertion.init)
  }

  /// Whether the owner of `key` signed this.
  public func isMade(by key: DevicePublicKey) -> Bool {
    guard let raw = Base64.decode(signature) else { return false }
    return key.verifies(raw, over: statement.canonicallyEncoded())
  }

  /// A signed body with `statement`.
  public static func body(
    signing statement: JSON, with key: some PhoneKey, assertion: UnverifiedAssertion? = nil
  ) throws(DeviceKeyError) -> [UInt8] {
    let signature = try key.signature(over: statement.canonicallyEncoded())
    return JSON.object([
      "statement": statement, "signature": .string(Base64.encode(signature)), "assertion": assertion?.json,
    ]).encoded()
  }
}
