/// The reply of `user_phones`: the keys of a user's phones, as the service has them.
///
/// A computer believes a key only if ``Phone/pinMAC`` is right, or if an administrator has compared the words.
public struct UserPhonesReply: Sendable, Equatable {
  public struct Phone: Sendable, Equatable {
    public let id: String
    /// The user's name for the phone; if there is none, the name that the phone shows for its user.
    public let name: String
    public let keys: PhoneKeys
    /// ``PhoneKeys/pinMAC(secret:origin:link:)`` as the phone sent it; nil if it sent none.
    public let pinMAC: String?
    /// Unix time in seconds of its registration.
    public let since: Int64

    public init(id: String, name: String, keys: PhoneKeys, pinMAC: String?, since: Int64) {
      self.id = id
      self.name = name
      self.keys = keys
      self.pinMAC = pinMAC
      self.since = since
    }

    fileprivate init(_ json: JSON) throws(MessageError) {
      func text(_ name: String) throws(MessageError) -> String {
        guard let value = json[name]?.string, !value.isEmpty else { throw .member(name) }
        return value
      }
      guard let since = json["since"]?.integer else { throw .member("since") }
      let credential: PhoneKeys.Credential?
      switch json["credential"] {
      case nil, .null: credential = nil
      case let value?: credential = try PhoneKeys.Credential(value)
      }
      let pinMAC: String?
      switch json["pin_mac"] {
      case nil, .null: pinMAC = nil
      case .string(let text): pinMAC = text
      default: throw .member("pin_mac")
      }
      self.init(
        id: try text("id"), name: try text("name"),
        keys: PhoneKeys(publicKey: try text("public_key"), credential: credential), pinMAC: pinMAC, since: since)
    }

    fileprivate var json: JSON {
      .object([
        "id": .string(id), "name": .string(name), "public_key": .string(keys.publicKey),
        "credential": keys.credential?.json ?? .null, "pin_mac": pinMAC.map { .string($0) } ?? .null,
        "since": .integer(since),
      ])
    }
  }

  public let phones: [Phone]
  /// The most phones that the user may register; 1 if an older service does not send it.
  public let greatestCount: Int64

  public init(phones: [Phone], greatestCount: Int64 = 1) {
    self.phones = phones
    self.greatestCount = greatestCount
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    guard let items = json["phones"]?.array else { throw .member("phones") }
    var phones: [Phone] = []
    for item in items { phones.append(try Phone(item)) }
    self.init(phones: phones, greatestCount: json["greatest_count"]?.integer ?? 1)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "phones": .array(phones.map(\.json)), "greatest_count": .integer(greatestCount),
    ]).encoded()
  }
}
