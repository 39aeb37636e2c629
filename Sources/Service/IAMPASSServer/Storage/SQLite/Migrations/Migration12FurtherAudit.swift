extension Migration {
  /// 900000 and 600000 are the milliseconds that links for phones and for the console worked when this was released.
  static let furtherAudit = Migration(
    "audit of links, credentials and settings",
    sql: """
      ALTER TABLE console_session ADD COLUMN address TEXT;

      CREATE TRIGGER audit_link AFTER INSERT ON link BEGIN
        INSERT INTO audit (at, event, application, user, phone, reason)
        VALUES (NEW.expires_at - 900000, 'registration link made', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user,
          NEW.display_name, iif(NEW.replaces_phone, 'PHONE_LOST', NULL));
      END;

      -- Before, since a replaced one is gone afterwards.
      CREATE TRIGGER audit_phone_credential BEFORE INSERT ON phone_credential BEGIN
        INSERT INTO audit (at, event, application, user, phone)
        SELECT NEW.added_at,
          iif(EXISTS (SELECT 1 FROM phone_credential WHERE phone = NEW.phone), 'phone credential replaced',
            'phone credential added'),
          application.name, phone.user, phone.display_name
        FROM phone LEFT JOIN user ON user.id = phone.user LEFT JOIN application ON application.id = user.application
        WHERE phone.id = NEW.phone;
      END;

      CREATE TRIGGER audit_console_link AFTER INSERT ON console_link BEGIN
        INSERT INTO audit (at, event) VALUES (NEW.expires_at - 600000, 'console link made');
      END;

      CREATE TRIGGER audit_console_session AFTER INSERT ON console_session BEGIN
        INSERT INTO audit (at, event, address) VALUES (NEW.used_at, 'console sign-in', NEW.address);
      END;

      CREATE TRIGGER audit_credential_renamed AFTER UPDATE OF name ON host_credential WHEN NEW.name IS NOT OLD.name BEGIN
        INSERT INTO audit (at, event, application, host, credential, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'credential renamed', (SELECT name FROM application WHERE id = NEW.application), NEW.host, NEW.name, 'was ' || OLD.name);
      END;

      DROP TRIGGER audit_settings;
      CREATE TRIGGER audit_settings
      AFTER UPDATE OF disabled_at, walkaway, silence_leaves, match_code, answer_time, greatest_duration, hook ON application
      WHEN NEW.disabled_at IS NOT OLD.disabled_at OR NEW.walkaway IS NOT OLD.walkaway OR NEW.silence_leaves IS NOT OLD.silence_leaves OR NEW.match_code IS NOT OLD.match_code OR NEW.answer_time IS NOT OLD.answer_time OR NEW.greatest_duration IS NOT OLD.greatest_duration OR NEW.hook IS NOT OLD.hook BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'settings changed', NEW.name, trim(iif(NEW.disabled_at IS OLD.disabled_at, '', ' ' || iif(NEW.disabled_at IS NULL, 'enabled', 'disabled')) || iif(NEW.walkaway IS OLD.walkaway, '', ' ' || 'walkaway=' || iif(NEW.walkaway, 'on', 'off')) || iif(NEW.silence_leaves IS OLD.silence_leaves, '', ' ' || 'silence=' || iif(NEW.silence_leaves, 'on', 'off')) || iif(NEW.match_code IS OLD.match_code, '', ' ' || 'match-code=' || CASE NEW.match_code WHEN 0 THEN 'off' WHEN 1 THEN 'on' ELSE 'required' END) || iif(NEW.answer_time IS OLD.answer_time, '', ' ' || 'answer-time=' || NEW.answer_time) || iif(NEW.greatest_duration IS OLD.greatest_duration, '', ' ' || 'greatest-duration=' || NEW.greatest_duration) || iif(NEW.hook IS OLD.hook, '', ' ' || 'program=' || NEW.hook)));
      END;
      """)
}
