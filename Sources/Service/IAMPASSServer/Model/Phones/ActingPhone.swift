/// A phone that acts for its user. It may have been cut off since its signature was checked: so each operation that
/// it asks for looks, in the same step, whether it is still the user's live phone.
struct ActingPhone: Sendable {
  let id: String
  let user: Int64
}

/// What is stored of a phone that acts.
struct PhoneFacts: Sendable {
  /// It is still its user's live phone.
  let isLive: Bool
  /// Its own; nil if it has none.
  let credential: VerifiedCredential?
  /// It is an app, and its application lets apps vouch for their user's face.
  let mayVouchForFace: Bool
  /// It may, and has said that it does.
  let vouchesForFace: Bool
}

extension VerifiedStatement {
  var acting: ActingPhone { ActingPhone(id: phone.id, user: user) }
}
