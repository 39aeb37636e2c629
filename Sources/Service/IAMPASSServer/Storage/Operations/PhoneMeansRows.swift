import IAMPASSProtocol

/// The methods of a phone, and whether it can be rung, from one query.
struct PhoneMeans {
  /// Whether it is an app whose application lets apps vouch for their user's face. False for a page.
  let mayVouchForFace: Bool
  /// Whether it has said that it vouches for its user's face.
  let offersFace: Bool
  let hasCredential: Bool
  /// Whether its application accepts credentials that are synced between devices.
  let acceptsSyncedPasskeys: Bool
  /// Whether it has a push subscription.
  let rings: Bool

  /// The methods that it can prove, weakest first.
  var methods: [AuthenticationMethod] {
    [.acceptance] + (mayVouchForFace && offersFace ? [.facial] : []) + (hasCredential ? [.device] : [])
  }

  private init(row: some StorageRow) throws {
    mayVouchForFace = try row.get("may_vouch")
    offersFace = try row.get("offers_face")
    hasCredential = try row.get("has_credential")
    acceptsSyncedPasskeys = try row.get("synced_passkeys")
    rings = try row.get("rings")
  }

  static func find(_ phone: String, in db: some StorageTransaction) throws -> PhoneMeans? {
    try db.first(
      """
      SELECT (phone.has_page = 0 AND application.face <> 0)::int::bigint AS may_vouch, application.synced_passkeys,
        (EXISTS (SELECT 1 FROM face WHERE face.phone = phone.id AND is_offered <> 0))::int::bigint AS offers_face,
        (EXISTS (SELECT 1 FROM phone_credential WHERE phone_credential.phone = phone.id))::int::bigint
          AS has_credential,
        (EXISTS (SELECT 1 FROM push_subscription WHERE push_subscription.phone = phone.id))::int::bigint AS rings
      FROM phone JOIN app_user ON app_user.id = phone.user_id
        JOIN application ON application.id = app_user.application
      WHERE phone.id = $1
      """, phone
    ).map(PhoneMeans.init(row:))
  }

  /// The means of the user's live phones, by the phones' ids.
  static func ofLive(_ user: Int64, in db: some StorageTransaction) throws -> [String: PhoneMeans] {
    let rows = try db.all(
      """
      SELECT phone.id, application.synced_passkeys,
        (phone.has_page = 0 AND application.face <> 0)::int::bigint AS may_vouch,
        (EXISTS (SELECT 1 FROM face WHERE face.phone = phone.id AND is_offered <> 0))::int::bigint AS offers_face,
        (EXISTS (SELECT 1 FROM phone_credential WHERE phone_credential.phone = phone.id))::int::bigint
          AS has_credential,
        (EXISTS (SELECT 1 FROM push_subscription WHERE push_subscription.phone = phone.id))::int::bigint AS rings
      FROM phone JOIN app_user ON app_user.id = phone.user_id
        JOIN application ON application.id = app_user.application
      WHERE phone.user_id = $1 AND phone.cut_off_at IS NULL
      """, user)
    return Dictionary(try rows.map { (try $0.get("id"), try PhoneMeans(row: $0)) }) { first, _ in first }
  }
}
