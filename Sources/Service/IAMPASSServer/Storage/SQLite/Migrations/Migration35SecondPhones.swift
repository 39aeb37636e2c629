extension Migration {
  /// A user may have two phones, where their application lets them: both are asked, and the audit names the one that
  /// answered.
  static let secondPhones = Migration(
    "second phones",
    sql: """
      ALTER TABLE application ADD COLUMN phones INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE phone ADD COLUMN name TEXT NOT NULL DEFAULT '';
      ALTER TABLE link ADD COLUMN lost_phone TEXT;
      -- Pairs of a phone's id and a method, where several phones are asked.
      ALTER TABLE session ADD COLUMN asked TEXT;
      ALTER TABLE session ADD COLUMN answered_by TEXT;
      CREATE INDEX asked_session ON session (user, started_at) WHERE asked IS NOT NULL;

      DROP INDEX one_live_phone_a_user;
      CREATE INDEX live_phone ON phone (user) WHERE cut_off_at IS NULL;

      CREATE TRIGGER audit_settings_phones AFTER UPDATE OF phones ON application WHEN NEW.phones IS NOT OLD.phones BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'settings changed', NEW.name,
          'phones=' || NEW.phones);
      END;

      DROP TRIGGER audit_session;
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
          coalesce((SELECT display_name || iif(name = '', '', ' (' || name || ')') FROM phone
              WHERE id = NEW.answered_by AND NEW.asked IS NOT NULL),
            (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL)), NEW.id,
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.ending);
      END;

      DROP TRIGGER audit_phone;
      CREATE TRIGGER audit_phone AFTER INSERT ON phone BEGIN
        INSERT INTO audit (at, event, application, user, phone)
        VALUES (NEW.registered_at, 'phone registered', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user,
          NEW.display_name || iif(NEW.name = '', '', ' (' || NEW.name || ')'));
      END;

      DROP TRIGGER audit_phone_cut_off;
      CREATE TRIGGER audit_phone_cut_off AFTER UPDATE OF cut_off_at ON phone
      WHEN OLD.cut_off_at IS NULL AND NEW.cut_off_at IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, user, phone)
        VALUES (NEW.cut_off_at, 'phone cut off', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user,
          NEW.display_name || iif(NEW.name = '', '', ' (' || NEW.name || ')'));
      END;
      """)
}
