import IAMPASSProtocol

extension StorageEngine {
  public func setNotifications(
    _ settings: NotificationSettings, of application: String, at now: UnixTime
  ) async throws {
    try await write { [seals] db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw ApplicationRefusal.nameUnknown
      }
      let place = SealedPlace.notifications(application: application.id, service: settings.service.rawValue)
      let secret = try seals.close(settings.secret, at: place, in: db)
      try db.execute(
        """
        INSERT INTO notification_service (application, service, told, details, secret, set_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (application, service) DO UPDATE SET told = excluded.told, details = excluded.details,
          secret = excluded.secret, set_at = excluded.set_at
        """, application.id, settings.service.rawValue, settings.line, settings.details, secret,
        now.milliseconds)
    }
  }

  public func removeNotifications(_ service: NotificationService, of application: String) async throws -> Bool {
    try await write { db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw ApplicationRefusal.nameUnknown
      }
      return try !db.change(
        "DELETE FROM notification_service WHERE application = $1 AND service = $2 RETURNING service", application.id,
        service.rawValue
      ).isEmpty
    }
  }

  public func notifications(of application: String) async throws -> [NotificationSummary] {
    try await read { [clock] db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw ApplicationRefusal.nameUnknown
      }
      return try db.all(
        "SELECT service, told, set_at FROM notification_service WHERE application = $1 ORDER BY service",
        application.id
      ).map { row in
        guard let service = try NotificationService(rawValue: row.get("service")) else {
          throw DamagedRow(column: "service")
        }
        let setAt = try UnixTime(milliseconds: row.get("set_at"))
        return try NotificationSummary(service: service, line: row.get("told"), setAt: clock.unixTime(of: setAt))
      }
    }
  }
}
