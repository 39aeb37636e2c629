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

  /// Nil if the service's word opened it, or an administrator's phone that answered for the user.
  init?(_ approval: VerifiedApproval?) {
    guard let approval, !approval.isByLocum else { return nil }
    self.init(approval.phone)
  }

  /// Whether it is one of these. A screen lock that it was given since makes no other phone of it.
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
