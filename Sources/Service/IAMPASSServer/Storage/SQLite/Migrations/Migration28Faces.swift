extension Migration {
  /// Apps that vouch for their user's face, where their application lets them. The audit says whose word it is.
  static let faces = Migration(
    "faces",
    sql: """
      ALTER TABLE application ADD COLUMN face INTEGER NOT NULL DEFAULT 0;

      CREATE TABLE face (
        phone TEXT PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        is_offered INTEGER NOT NULL,
        changed_at INTEGER NOT NULL
      ) STRICT;

      CREATE TRIGGER audit_settings_face AFTER UPDATE OF face ON application WHEN NEW.face IS NOT OLD.face BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'settings changed', NEW.name,
          'face=' || iif(NEW.face, 'apps', 'off'));
      END;

      CREATE TRIGGER audit_face AFTER INSERT ON face BEGIN
        INSERT INTO audit (at, event, application, user, phone)
        SELECT NEW.changed_at, iif(NEW.is_offered, 'app vouches for faces', 'app vouches no more'), application.name,
          user.id, phone.display_name
        FROM phone LEFT JOIN user ON user.id = phone.user LEFT JOIN application ON application.id = user.application
        WHERE phone.id = NEW.phone;
      END;

      CREATE TRIGGER audit_face_changed AFTER UPDATE ON face BEGIN
        INSERT INTO audit (at, event, application, user, phone)
        SELECT NEW.changed_at, iif(NEW.is_offered, 'app vouches for faces', 'app vouches no more'), application.name,
          user.id, phone.display_name
        FROM phone LEFT JOIN user ON user.id = phone.user LEFT JOIN application ON application.id = user.application
        WHERE phone.id = NEW.phone;
      END;

      CREATE TRIGGER audit_face_vouched AFTER UPDATE OF approved_at ON session
      WHEN OLD.approved_at IS NULL AND NEW.approved_at IS NOT NULL AND NEW.method = 'facial' BEGIN
        INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
          credential)
        VALUES (NEW.approved_at, 'app vouched for the face', (SELECT name FROM application WHERE id = NEW.application),
          NEW.user, (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential));
      END;
      """)
}
