/// A phone that acts for its user. It may have been revoked since its signature was checked. So each of its operations
/// checks, in the same transaction, whether it is still the user's live phone.
struct ActingPhone: Sendable {
  let id: String
  let user: Int64
}

/// What is stored of a phone that acts.
struct PhoneFacts: Sendable {
  /// Whether it is still its user's live phone.
  let isLive: Bool
  /// Its WebAuthn credential; nil if it has none.
  let credential: VerifiedCredential?
  /// Whether it is an app, and its application lets apps vouch for their user's face.
  let mayVouchForFace: Bool
  /// Whether it may, and has said that it does.
  let vouchesForFace: Bool
  /// Whether its application accepts credentials that are synced between devices.
  let acceptsSyncedPasskeys: Bool
}

extension VerifiedStatement {
  var acting: ActingPhone { ActingPhone(id: phone.id, user: user) }
}
