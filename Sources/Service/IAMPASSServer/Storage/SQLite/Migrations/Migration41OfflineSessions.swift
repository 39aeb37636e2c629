extension Migration {
  /// Sessions that codes opened: until when they count as open, and what their users said to them.
  static let offlineSessions = Migration(
    "offline sessions",
    sql: """
      ALTER TABLE code_use ADD COLUMN open_until INTEGER;
      ALTER TABLE code_use ADD COLUMN disowned_at INTEGER;

      CREATE TRIGGER audit_code_disowned AFTER UPDATE OF disowned_at ON code_use
      WHEN OLD.disowned_at IS NULL AND NEW.disowned_at IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, user, phone, host, service, account, tty, remote_host, credential,
          reason)
        VALUES (NEW.disowned_at, 'sign-in disowned',
          (SELECT application.name FROM user JOIN application ON application.id = user.application
            WHERE user.id = NEW.user),
          NEW.user, (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL),
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'),
          (SELECT name FROM host_credential WHERE id = NEW.credential),
          'used ' || strftime('%Y-%m-%dT%H:%M:%SZ', NEW.used_at, 'unixepoch'));
      END;
      """)
}
