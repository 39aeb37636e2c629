extension PostgreSQLMigration {
  /// How applications' own apps are rung: their notification services, and the tokens of phones there. `told` is what
  /// may be shown of a setting.
  static let notifications = PostgreSQLMigration(
    name: "notifications", least: 1,
    sql: """
      CREATE TABLE notification_service (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        service text NOT NULL,
        told text NOT NULL,
        details text NOT NULL,
        secret text NOT NULL,
        set_at bigint NOT NULL,
        PRIMARY KEY (application, service)
      );

      CREATE TABLE app_token (
        phone text PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        service text NOT NULL,
        token text NOT NULL,
        told_at bigint NOT NULL
      );

      CREATE FUNCTION audit_notifications() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'DELETE' THEN
          INSERT INTO audit (at, event, application, reason)
          VALUES (database_time(), 'notifications removed', application_name(OLD.application), OLD.told);
        ELSE
          INSERT INTO audit (at, event, application, reason)
          VALUES (NEW.set_at, 'notifications set', application_name(NEW.application), NEW.told);
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_notifications AFTER INSERT OR UPDATE OR DELETE ON notification_service FOR EACH ROW
        EXECUTE FUNCTION audit_notifications();

      CREATE OR REPLACE FUNCTION audit_noted() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.event IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
          'credential renamed', 'settings changed', 'signing key removed', 'notifications removed')
        THEN
          NEW.noted_at = coalesce((SELECT time FROM service_clock), NEW.at);
        ELSE
          NEW.noted_at = NEW.at;
          NEW.at = NEW.at + coalesce((SELECT unix_time - time FROM service_clock), 0);
        END IF;
        RETURN NEW;
      END $$;
      """)
}
