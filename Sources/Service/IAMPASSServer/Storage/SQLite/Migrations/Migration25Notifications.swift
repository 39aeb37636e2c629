extension Migration {
  /// How applications' own apps are rung: their notification services, and the tokens of phones there. `told` is what
  /// may be shown of a setting.
  static let notifications = Migration(
    "notifications",
    sql: """
      CREATE TABLE notification_service (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        service TEXT NOT NULL,
        told TEXT NOT NULL,
        details TEXT NOT NULL,
        secret TEXT NOT NULL,
        set_at INTEGER NOT NULL,
        PRIMARY KEY (application, service)
      ) STRICT;

      CREATE TABLE app_token (
        phone TEXT PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        service TEXT NOT NULL,
        token TEXT NOT NULL,
        told_at INTEGER NOT NULL
      ) STRICT;

      CREATE TRIGGER audit_notifications AFTER INSERT ON notification_service BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (NEW.set_at, 'notifications set', (SELECT name FROM application WHERE id = NEW.application), NEW.told);
      END;

      CREATE TRIGGER audit_notifications_changed AFTER UPDATE ON notification_service BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (NEW.set_at, 'notifications set', (SELECT name FROM application WHERE id = NEW.application), NEW.told);
      END;

      CREATE TRIGGER audit_notifications_removed AFTER DELETE ON notification_service BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'notifications removed',
          (SELECT name FROM application WHERE id = OLD.application), OLD.told);
      END;

      DROP TRIGGER audit_noted;
      DROP TRIGGER audit_noted_late;
      CREATE TRIGGER audit_noted AFTER INSERT ON audit
      WHEN NEW.event NOT IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
        'credential renamed', 'settings changed', 'signing key removed', 'notifications removed')
      BEGIN
        UPDATE audit SET noted_at = NEW.at, at = NEW.at + coalesce((SELECT unix_time - time FROM service_clock), 0)
        WHERE id = NEW.id;
      END;
      CREATE TRIGGER audit_noted_late AFTER INSERT ON audit
      WHEN NEW.event IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
        'credential renamed', 'settings changed', 'signing key removed', 'notifications removed')
      BEGIN
        UPDATE audit SET noted_at = coalesce((SELECT time FROM service_clock), NEW.at) WHERE id = NEW.id;
      END;
      """)
}
