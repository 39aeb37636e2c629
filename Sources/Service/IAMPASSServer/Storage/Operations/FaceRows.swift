import GRDB
import IAMPASSProtocol

extension Phone {
  /// Whether it is an app whose application lets apps vouch for their user's face. A page never may.
  static func mayVouchForFace(_ id: String, in db: Database) throws -> Bool {
    try db.firstRow(
      """
      SELECT 1 FROM phone JOIN user ON user.id = phone.user JOIN application ON application.id = user.application
      WHERE phone.id = ? AND NOT phone.has_page AND application.face
      """, [id]) != nil
  }

  /// Whether it said that it vouches for its user's face.
  static func offersFace(_ id: String, in db: Database) throws -> Bool {
    try db.firstRow("SELECT 1 FROM face WHERE phone = ? AND is_offered", [id]) != nil
  }

  static func keepFace(_ isOffered: Bool, of id: String, at now: UnixTime, in db: Database) throws {
    try db.run(
      """
      INSERT INTO face (phone, is_offered, changed_at) VALUES (?, ?, ?)
      ON CONFLICT (phone) DO UPDATE SET is_offered = excluded.is_offered, changed_at = excluded.changed_at
      WHERE is_offered IS NOT excluded.is_offered
      """, [id, isOffered, now.milliseconds])
  }
}
