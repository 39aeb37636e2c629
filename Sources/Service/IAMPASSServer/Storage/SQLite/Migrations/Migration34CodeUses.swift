extension Migration {
  /// Codes that served on computers which could not ask the phone, as those report afterwards.
  static let codeUses = Migration(
    "uses of codes",
    sql: """
      CREATE TABLE code_use (
        user INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,
        use TEXT NOT NULL,
        way TEXT NOT NULL,
        credential TEXT,
        context TEXT NOT NULL,
        used_at INTEGER NOT NULL,
        codes_left INTEGER,
        reported_at INTEGER NOT NULL,
        PRIMARY KEY (user, use)
      ) STRICT;

      CREATE TRIGGER audit_code_use AFTER INSERT ON code_use BEGIN
        INSERT INTO audit (at, event, application, user, phone, host, service, account, tty, remote_host, credential,
          reason)
        VALUES (NEW.reported_at, IIF(NEW.way = 'recovery', 'recovery code used', 'approved offline'),
          (SELECT application.name FROM user JOIN application ON application.id = user.application
            WHERE user.id = NEW.user),
          NEW.user, (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL),
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'),
          (SELECT name FROM host_credential WHERE id = NEW.credential),
          'used ' || strftime('%Y-%m-%dT%H:%M:%SZ', NEW.used_at, 'unixepoch')
            || ifnull(', ' || NEW.codes_left || ' left', ''));
      END;
      """)
}
