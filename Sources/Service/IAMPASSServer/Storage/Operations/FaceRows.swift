import IAMPASSProtocol

extension Phone {
  static func keepFace(_ isOffered: Bool, of id: String, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      """
      INSERT INTO face (phone, is_offered, changed_at) VALUES ($1, $2, $3)
      ON CONFLICT (phone) DO UPDATE SET is_offered = excluded.is_offered, changed_at = excluded.changed_at
      WHERE face.is_offered <> excluded.is_offered
      """, id, isOffered ? 1 : 0, now.milliseconds)
  }
}
