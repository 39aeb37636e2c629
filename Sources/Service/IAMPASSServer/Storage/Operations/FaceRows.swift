import IAMPASSProtocol

extension Phone {
  /// Whether it is an app whose application lets apps vouch for their user's face. A page never may.
  static func mayVouchForFace(_ id: String, in db: some StorageWork) throws -> Bool {
    try db.first(
      """
      SELECT phone.id FROM phone JOIN app_user ON app_user.id = phone.user_id
        JOIN application ON application.id = app_user.application
      WHERE phone.id = $1 AND phone.has_page = 0 AND application.face <> 0
      """, id) != nil
  }

  /// Whether it said that it vouches for its user's face.
  static func offersFace(_ id: String, in db: some StorageWork) throws -> Bool {
    try db.first("SELECT phone FROM face WHERE phone = $1 AND is_offered <> 0", id) != nil
  }

  static func keepFace(_ isOffered: Bool, of id: String, at now: UnixTime, in db: some StorageWork) throws {
    try db.execute(
      """
      INSERT INTO face (phone, is_offered, changed_at) VALUES ($1, $2, $3)
      ON CONFLICT (phone) DO UPDATE SET is_offered = excluded.is_offered, changed_at = excluded.changed_at
      WHERE face.is_offered <> excluded.is_offered
      """, id, isOffered ? 1 : 0, now.milliseconds)
  }
}
