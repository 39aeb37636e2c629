/// The reply of `user_phone_digests`: a user's phones at the service, for a computer that knows the phones' keys.
///
/// It contains no key, name or time, so that nobody learns a phone's keys from it.
public struct PhoneDigestsReply: Sendable, Equatable {
  public struct Phone: Sendable, Equatable {
    /// The service's own name for the phone, as in approvals.
    public let id: String
    /// ``PhoneKeys/digest``.
    public let keysDigest: String

    public init(id: String, keysDigest: String) {
      self.id = id
      self.keysDigest = keysDigest
    }

    fileprivate init(_ json: JSON) throws(MessageError) {
      guard let id = json["id"]?.string, !id.isEmpty else { throw .member("id") }
      guard let digest = json["keys_digest"]?.string, !digest.isEmpty else { throw .member("keys_digest") }
      self.init(id: id, keysDigest: digest)
    }

    fileprivate var json: JSON { .object(["id": .string(id), "keys_digest": .string(keysDigest)]) }
  }

  public let phones: [Phone]

  public init(phones: [Phone]) { self.phones = phones }

  public init(parsing body: [UInt8]) throws(MessageError) {
    guard let items = try JSON.acknowledged(body)["phones"]?.array else { throw .member("phones") }
    var phones: [Phone] = []
    for item in items { phones.append(try Phone(item)) }
    self.init(phones: phones)
  }

  public func encoded() -> [UInt8] {
    JSON.object(["status": .bool(true), "phones": .array(phones.map(\.json))]).encoded()
  }
}
