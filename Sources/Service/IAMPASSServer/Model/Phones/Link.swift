import IAMPASSProtocol

/// A registration link, which is valid once within its time. Only a hash of its code is stored.
struct Link: Sendable {
  /// How long a link is valid, in seconds.
  static let lifetime: Int64 = 900

  let codeHash: String
  let user: Int64
  let displayName: String
  /// Whether the new phone replaces all phones of the user, or ``lostPhone``. Such links are made by
  /// `lost_user_mobile_device`.
  let replacesPhone: Bool
  /// The id of the lost phone, if it was named: the user's other phone stays.
  let lostPhone: String?
  let expiresAt: UnixTime
  /// When it registered a phone; nil: it has not.
  let usedAt: UnixTime?

  var isUsed: Bool { usedAt != nil }

  /// Whether it registered this phone. Both are stored with the same time.
  func registered(_ phone: Phone) -> Bool { phone.user == user && usedAt == phone.registeredAt }

  static func hash(of code: Secret) -> String { Digest.hexadecimal(Digest.sha256(code.exposedBytes)) }
}
