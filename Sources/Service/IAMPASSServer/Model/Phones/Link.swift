import IAMPASSProtocol

/// A registration link, used once within its time. Its code is stored as a hash only.
struct Link: Sendable {
  /// Seconds.
  static let lifetime: Int64 = 900

  let codeHash: String
  let user: Int64
  let displayName: String
  /// Made by `lost_user_mobile_device`: takes the place of whatever phone the user has, or of the
  /// one that was named as lost.
  let replacesPhone: Bool
  /// The id of the lost phone, if it was named: the user's other phone stays.
  let lostPhone: String?
  let expiresAt: UnixTime
  let isUsed: Bool

  static func hash(of code: Secret) -> String { Digest.hexadecimal(Digest.sha256(code.exposedBytes)) }
}
