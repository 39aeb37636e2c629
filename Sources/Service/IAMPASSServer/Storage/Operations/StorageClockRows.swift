import GRDB

extension StorageClock {
  /// Goes on from what the database knows, and tells it which boot this is.
  convenience init(_ clocks: MachineClocks, keptIn pool: DatabasePool) throws {
    let stored = try pool.read(Self.stored)
    self.init(clocks, stored: stored)
    guard isNews(to: stored) else { return }
    do {
      try pool.write { db in
        // Another process may have done it meanwhile: then this one is of the same boot, and nothing is lost.
        guard try Self.stored(in: db) == stored else { return }
        try anchor.store(in: db)
      }
    } catch  where [.full, .locked].contains(StorageTrouble(error)) {
      // It is kept with the next look.
    }
  }

  static func stored(in db: Database) throws -> Anchor? {
    guard let row = try Row.fetchOne(db, sql: "SELECT * FROM service_clock") else { return nil }
    return try Anchor(
      bootID: row.get("boot_id"), sinceBoot: row.get("since_boot"),
      time: UnixTime(milliseconds: row.get("time")), unixTime: UnixTime(milliseconds: row.get("unix_time")),
      isSettled: row.get("is_settled"))
  }
}

extension StorageClock.Anchor {
  func store(in db: Database) throws {
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO service_clock (id, boot_id, since_boot, time, unix_time, is_settled)
        VALUES (1, ?, ?, ?, ?, ?)
        """,
      arguments: [bootID, sinceBoot, time.milliseconds, unixTime.milliseconds, isSettled])
  }
}

extension SQLiteStorage {
  /// Service time: see ``StorageClock``.
  public func now() -> UnixTime { clock.now() }

  /// Keeps how far time has come, for the next boot. A power cut may undo the last of it.
  func keepTime() async throws {
    // Read within the write: an older reading must not replace what another write kept meanwhile.
    try await note { [clock] in try clock.anchor.store(in: $0) }
  }
}
