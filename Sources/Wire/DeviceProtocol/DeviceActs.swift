import IAMPASSProtocol

// Statements with members of their own: each is a ``DeviceAsk`` and more.

/// Ends sessions of the phone's user.
public struct EndStatement: Sendable, Equatable {
  /// The greatest number of sessions in one statement.
  public static let greatestCount = 50

  public let ask: DeviceAsk
  /// The sessions' ids.
  public let sessions: [String]

  public init(ask: DeviceAsk, sessions: [String]) {
    self.ask = ask
    self.sessions = sessions
  }

  public init(_ json: JSON) throws(MessageError) {
    ask = try DeviceAsk(json)
    guard let items = json["sessions"]?.array, (1...Self.greatestCount).contains(items.count) else {
      throw .member("sessions")
    }
    sessions = items.compactMap(\.string)
    guard sessions.count == items.count else { throw .member("sessions") }
  }

  public var json: JSON { ask.json(with: ["sessions": .array(sessions.map { .string($0) })]) }
}

/// Adds or replaces the phone's credential. Its challenge is ``CredentialChallenge/bytes(for:publicKey:)`` with the
/// ask's nonce. A phone that already has a credential also sends an assertion of it over this statement.
public struct CredentialStatement: Sendable, Equatable {
  public let ask: DeviceAsk
  public let credential: UnverifiedCredential
  /// As ``RegisterRequest/pinMAC``, if the page still has the secret of its link. Nil: the phone is no longer pinned.
  public let pinMAC: String?

  public init(ask: DeviceAsk, credential: UnverifiedCredential, pinMAC: String? = nil) {
    self.ask = ask
    self.credential = credential
    self.pinMAC = pinMAC
  }

  public init(_ json: JSON) throws(MessageError) {
    ask = try DeviceAsk(json)
    guard let credential = try json.optional("credential", UnverifiedCredential.init) else {
      throw .member("credential")
    }
    self.credential = credential
    pinMAC = try json.pinMAC
  }

  public var json: JSON {
    // A missing pin stays missing: older services know no such member.
    guard let pinMAC else { return ask.json(with: ["credential": credential.json]) }
    return ask.json(with: ["credential": credential.json, "pin_mac": .string(pinMAC)])
  }
}

/// A browser's push address (RFC 8030) and the keys that seal messages to it (RFC 8291). As received, nothing is
/// checked.
public struct UnverifiedPushSubscription: Sendable, Equatable {
  public let endpoint: String
  /// The browser's point, uncompressed, base64url.
  public let p256dh: String
  /// 16 bytes, base64url.
  public let auth: Secret

  public init(endpoint: String, p256dh: String, auth: Secret) {
    self.endpoint = endpoint
    self.p256dh = p256dh
    self.auth = auth
  }

  init(_ json: JSON) throws(MessageError) {
    self.init(
      endpoint: try json.text("endpoint"), p256dh: try json.text("p256dh"), auth: Secret(try json.text("auth")))
  }

  var json: JSON {
    .object(["endpoint": .string(endpoint), "p256dh": .string(p256dh), "auth": .string(auth.exposedValue)])
  }
}

/// Tells the service how to ring the phone while its page or app is closed.
public struct PushStatement: Sendable, Equatable {
  public let ask: DeviceAsk
  /// Nil: the phone is no longer rung.
  public let way: PushWay?

  public init(ask: DeviceAsk, way: PushWay?) {
    self.ask = ask
    self.way = way
  }

  public init(_ json: JSON) throws(MessageError) {
    ask = try DeviceAsk(json)
    // A missing member is an error: only an explicit null stops the ringing.
    guard json["subscription"] != nil else { throw .member("subscription") }
    way = try json.optional("subscription", PushWay.init)
  }

  public var json: JSON { ask.json(with: ["subscription": way?.json ?? .null]) }
}

/// The reply of `GET /device/v1/push-key`.
public struct PushKeyReply: Sendable, Equatable {
  /// The service's point (RFC 8292), uncompressed, base64url.
  public let key: String

  public init(key: String) { self.key = key }

  public init(parsing body: [UInt8]) throws(MessageError) {
    self.init(key: try JSON.reading(body).text("key"))
  }

  public func encoded() -> [UInt8] { JSON.object(["status": .bool(true), "key": .string(key)]).encoded() }
}

/// Names of the events in the stream of `POST /device/v1/events`.
public enum DeviceEvent: String, Sendable, CaseIterable {
  /// The data is a ``RequestsReply``.
  case requests
  /// The data is a ``DeviceStatusReply``.
  case status
}
