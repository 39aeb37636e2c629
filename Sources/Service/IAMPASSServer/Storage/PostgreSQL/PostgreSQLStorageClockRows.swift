import PostgreSQLLink

extension StorageClock {
  static func stored(in db: PostgreSQLWork) throws -> Anchor? {
    guard let row = try db.first("SELECT * FROM service_clock") else { return nil }
    return try Anchor(
      bootID: row.get("boot_id"), sinceBoot: row.get("since_boot"),
      time: UnixTime(milliseconds: row.get("time")), unixTime: UnixTime(milliseconds: row.get("unix_time")),
      isSettled: row.get("is_settled"))
  }
}

extension StorageClock.Anchor {
  func store(in db: PostgreSQLWork) throws {
    try db.execute(
      """
      INSERT INTO service_clock (id, boot_id, since_boot, time, unix_time, is_settled)
      VALUES (1, $1, $2, $3, $4, $5)
      ON CONFLICT (id) DO UPDATE SET boot_id = EXCLUDED.boot_id, since_boot = EXCLUDED.since_boot,
        time = EXCLUDED.time, unix_time = EXCLUDED.unix_time, is_settled = EXCLUDED.is_settled
      """, bootID, sinceBoot, time.milliseconds, unixTime.milliseconds, isSettled)
  }
}

extension PostgreSQLStorage {
  /// Service time: see ``StorageClock``.
  public func now() -> UnixTime { clock.now() }

  /// Keeps how far time has come, for the next boot. A power cut may undo the last of it.
  func keepTime() async throws {
    // Read within the write: an older reading must not replace what another write kept meanwhile.
    try await note { [clock] in try clock.anchor.store(in: $0) }
  }
}
