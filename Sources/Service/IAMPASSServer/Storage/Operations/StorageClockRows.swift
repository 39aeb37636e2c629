extension StorageClock {
  static func stored(in db: some StorageTransaction) throws -> Anchor? {
    guard let row = try db.first("SELECT * FROM service_clock") else { return nil }
    return try Anchor(row)
  }
}

extension StorageClock.Anchor {
  init(_ row: some StorageRow) throws {
    self.init(
      bootID: try row.get("boot_id"), sinceBoot: try row.get("since_boot"),
      time: UnixTime(milliseconds: try row.get("time")), unixTime: UnixTime(milliseconds: try row.get("unix_time")),
      isSettled: try row.get("is_settled"))
  }

  func store(in db: some StorageTransaction) throws {
    try db.execute(
      """
      INSERT INTO service_clock (id, boot_id, since_boot, time, unix_time, is_settled)
      VALUES (1, $1, $2, $3, $4, $5)
      ON CONFLICT (id) DO UPDATE SET boot_id = excluded.boot_id, since_boot = excluded.since_boot,
        time = excluded.time, unix_time = excluded.unix_time, is_settled = excluded.is_settled
      """, bootID, sinceBoot, time.milliseconds, unixTime.milliseconds, isSettled)
  }
}

extension StorageEngine {
  /// Stores the service's time for the next boot. A power cut may undo the last call.
  func keepTime() async throws {
    // The clock is read within the write: an older reading must not replace that of another write.
    try await writeWithoutSync { [clock] in try clock.anchor.store(in: $0) }
  }
}
