import GRDB
import IAMPASSProtocol

extension SQLiteStorage: NotificationStore {
  public func setNotifications(
    _ settings: NotificationSettings, of application: String, at now: UnixTime
  ) async throws {
    try await write { db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw ApplicationRefusal.nameUnknown
      }
      try db.run(
        """
        INSERT INTO notification_service (application, service, told, details, secret, set_at)
        VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET told = excluded.told, details = excluded.details, secret = excluded.secret,
          set_at = excluded.set_at
        """,
        [
          application.id, settings.service.rawValue, settings.told, settings.details, settings.secret.exposedValue,
          now.milliseconds,
        ])
    }
  }

  public func removeNotifications(_ service: NotificationService, of application: String) async throws -> Bool {
    try await write { db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw ApplicationRefusal.nameUnknown
      }
      try db.run(
        "DELETE FROM notification_service WHERE application = ? AND service = ?",
        [application.id, service.rawValue])
      return db.changesCount > 0
    }
  }

  public func notifications(of application: String) async throws -> [NotificationSummary] {
    try await read { [clock] db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw ApplicationRefusal.nameUnknown
      }
      let sql = "SELECT service, told, set_at FROM notification_service WHERE application = ? ORDER BY service"
      return try db.allRows(sql, [application.id]).map { row in
        guard let service = try NotificationService(rawValue: row.get("service")) else {
          throw DamagedRow(column: "service")
        }
        let setAt = try UnixTime(milliseconds: row.get("set_at"))
        return try NotificationSummary(service: service, told: row.get("told"), setAt: clock.unixTime(of: setAt))
      }
    }
  }
}
