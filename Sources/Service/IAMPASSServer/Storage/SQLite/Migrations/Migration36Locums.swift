extension Migration {
  /// An administrator's phone that may answer once for a user who has none at hand.
  static let locums = Migration(
    "locums",
    sql: """
      ALTER TABLE user ADD COLUMN locum_phone TEXT;
      ALTER TABLE user ADD COLUMN locum_user INTEGER;
      ALTER TABLE user ADD COLUMN locum_name TEXT;
      ALTER TABLE user ADD COLUMN locum_until INTEGER;
      ALTER TABLE session ADD COLUMN locum_phone TEXT;
      ALTER TABLE session ADD COLUMN locum_user INTEGER;
      ALTER TABLE session ADD COLUMN locum_name TEXT;
      CREATE INDEX locum_session ON session (locum_phone) WHERE locum_phone IS NOT NULL;
      CREATE INDEX helped_session ON session (user) WHERE locum_phone IS NOT NULL;

      -- 120000 are the milliseconds that it is good for.
      CREATE TRIGGER audit_locum AFTER UPDATE OF locum_until ON user WHEN NEW.locum_phone IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, user, phone, reason)
        VALUES (NEW.locum_until - 120000, 'locum allowed', (SELECT name FROM application WHERE id = NEW.application), NEW.id,
          (SELECT display_name FROM phone WHERE user = NEW.id AND cut_off_at IS NULL), NEW.locum_name);
      END;

      CREATE TRIGGER audit_locum_answered AFTER UPDATE OF answered_by ON session
      WHEN OLD.answered_by IS NULL AND NEW.answered_by = NEW.locum_phone BEGIN
        INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
          credential, reason)
        VALUES (coalesce(NEW.approved_at, NEW.ended_at), iif(NEW.approved_at IS NULL, 'locum denied', 'locum approved'),
          (SELECT name FROM application WHERE id = NEW.application), NEW.user,
          (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.locum_name);
      END;
      """)
}
