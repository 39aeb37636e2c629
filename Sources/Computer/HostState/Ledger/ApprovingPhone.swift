import IAMPASSProtocol

/// The user's own phone that opened a session, as this computer has verified it.
public struct ApprovingPhone: Sendable, Equatable {
  /// ``PinnedPhone/id``.
  public let id: String
  let key: P256PublicKey

  public init(_ phone: PinnedPhone) {
    id = phone.id
    key = phone.key
  }

  /// Nil if the service's answer alone opened the session, or if an administrator's phone answered for the user.
  init?(_ approval: VerifiedApproval?) {
    guard let approval, !approval.isByLocum else { return nil }
    self.init(approval.phone)
  }

  /// Whether the phone is one of these. It stays the same phone if it got a screen lock since.
  public func isAmong(_ phones: [PinnedPhone]) -> Bool {
    phones.contains { $0.id.utf8.elementsEqual(id.utf8) && $0.key == key }
  }
}

extension ApprovingPhone {
  var json: JSON { .object(["id": .string(id), "key": .string(key.text)]) }

  init?(json: JSON) {
    guard let id = json["id"]?.string, let key = json["key"]?.string.flatMap({ P256PublicKey($0) }) else { return nil }
    self.id = id
    self.key = key
  }
}
