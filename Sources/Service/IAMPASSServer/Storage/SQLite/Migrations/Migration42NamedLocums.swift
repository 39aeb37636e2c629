extension Migration {
  /// Which user and phone a locum was: what a phone shows for its owner may be anything.
  static let namedLocums = Migration(
    "named locums",
    sql: """
      ALTER TABLE audit ADD COLUMN locum TEXT;
      ALTER TABLE audit ADD COLUMN locum_phone TEXT;
      DROP TRIGGER audit_locum;
      DROP TRIGGER audit_locum_answered;

      -- 120000 are the milliseconds that it is good for.
      CREATE TRIGGER audit_locum AFTER UPDATE OF locum_until ON user WHEN NEW.locum_phone IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, user, phone, reason, locum, locum_phone)
        VALUES (NEW.locum_until - 120000, 'locum allowed', (SELECT name FROM application WHERE id = NEW.application), NEW.id,
          (SELECT display_name FROM phone WHERE user = NEW.id AND cut_off_at IS NULL), NEW.locum_name,
          coalesce((SELECT name FROM listed_user WHERE application = NEW.application AND user = NEW.locum_user),
            'user ' || NEW.locum_user), NEW.locum_phone);
      END;

      CREATE TRIGGER audit_locum_answered AFTER UPDATE OF answered_by ON session
      WHEN OLD.answered_by IS NULL AND NEW.answered_by = NEW.locum_phone BEGIN
        INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
          credential, reason, locum, locum_phone)
        VALUES (coalesce(NEW.approved_at, NEW.ended_at), iif(NEW.approved_at IS NULL, 'locum denied', 'locum approved'),
          (SELECT name FROM application WHERE id = NEW.application), NEW.user,
          (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
          json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
          json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
          json_extract(NEW.context, '$.remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.locum_name,
          coalesce((SELECT name FROM listed_user WHERE application = NEW.application AND user = NEW.locum_user),
            'user ' || NEW.locum_user), NEW.locum_phone);
      END;
      """)
}
