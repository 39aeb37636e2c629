extension Migration {
  /// The audit has no user ids of the service: they are the tokens in the users files of the computers.
  static let audit = Migration(
    "audit",
    sql: """
      ALTER TABLE session ADD COLUMN address TEXT;

      CREATE TABLE audit (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        event TEXT NOT NULL,
        application TEXT,
        user INTEGER,
        phone TEXT,
        session TEXT,
        host TEXT,
        service TEXT,
        account TEXT,
        tty TEXT,
        remote_host TEXT,
        address TEXT,
        credential TEXT,
        reason TEXT
      ) STRICT;
      CREATE INDEX audit_age ON audit (at);

      CREATE TRIGGER audit_asked AFTER INSERT ON session BEGIN
        INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
        credential, reason)
        VALUES (NEW.started_at, 'asked', (SELECT name FROM application WHERE id = NEW.application), NEW.user,
          (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.ending);
      END;

      CREATE TRIGGER audit_session AFTER UPDATE OF status ON session
      WHEN NEW.status IS NOT OLD.status AND NEW.status NOT IN ('pending', 'identifying') BEGIN
        INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
        credential, reason)
        VALUES (coalesce(NEW.ended_at, iif(OLD.status = 'walkaway' OR NEW.status = 'walkaway', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NEW.approved_at), CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)), CASE
        WHEN NEW.status = 'active' AND OLD.status = 'walkaway' THEN 'back'
        WHEN NEW.status = 'active' THEN 'approved'
        WHEN NEW.status = 'walkaway' THEN 'walked away'
        WHEN NEW.ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') THEN 'denied'
        ELSE 'ended'
      END, (SELECT name FROM application WHERE id = NEW.application), NEW.user,
          (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.ending);
      END;

      CREATE TRIGGER audit_phone AFTER INSERT ON phone BEGIN
        INSERT INTO audit (at, event, application, user, phone)
        VALUES (NEW.registered_at, 'phone registered', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user, NEW.display_name);
      END;

      CREATE TRIGGER audit_phone_cut_off AFTER UPDATE OF cut_off_at ON phone
      WHEN OLD.cut_off_at IS NULL AND NEW.cut_off_at IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, user, phone)
        VALUES (NEW.cut_off_at, 'phone cut off', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user, NEW.display_name);
      END;

      CREATE TRIGGER audit_user AFTER INSERT ON user BEGIN
        INSERT INTO audit (at, event, application, user)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'user added', (SELECT name FROM application WHERE id = NEW.application), NEW.id);
      END;

      CREATE TRIGGER audit_user_deleted AFTER DELETE ON user BEGIN
        INSERT INTO audit (at, event, application, user)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'user deleted', (SELECT name FROM application WHERE id = OLD.application), OLD.id);
      END;

      CREATE TRIGGER audit_application AFTER INSERT ON application BEGIN
        INSERT INTO audit (at, event, application) VALUES (NEW.created_at, 'application made', NEW.name);
      END;

      CREATE TRIGGER audit_secret AFTER UPDATE OF secret ON application WHEN NEW.secret IS NOT OLD.secret BEGIN
        INSERT INTO audit (at, event, application) VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'application secret renewed', NEW.name);
      END;

      CREATE TRIGGER audit_credential AFTER INSERT ON host_credential BEGIN
        INSERT INTO audit (at, event, application, host, credential)
        VALUES (NEW.created_at, 'credential made', (SELECT name FROM application WHERE id = NEW.application), NEW.host, NEW.name);
      END;

      CREATE TRIGGER audit_credential_revoked AFTER UPDATE OF revoked_at ON host_credential
      WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, host, credential)
        VALUES (NEW.revoked_at, 'credential revoked', (SELECT name FROM application WHERE id = NEW.application), NEW.host, NEW.name);
      END;
      """)
}
