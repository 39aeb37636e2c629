extension PostgreSQLMigration {
  /// A user may have two phones, where their application lets them: both are asked, and the audit names the one that
  /// answered. Servers of a version before know one of them, and refuse the other.
  static let secondPhones = PostgreSQLMigration(
    name: "second phones", least: 1,
    sql: """
      ALTER TABLE application ADD COLUMN phones bigint NOT NULL DEFAULT 1;
      ALTER TABLE phone ADD COLUMN name text NOT NULL DEFAULT '';
      ALTER TABLE link ADD COLUMN lost_phone text;
      -- Pairs of a phone's id and a method, where several phones are asked.
      ALTER TABLE session ADD COLUMN asked text;
      ALTER TABLE session ADD COLUMN answered_by text;
      CREATE INDEX asked_session ON session (user_id, started_at) WHERE asked IS NOT NULL;

      DROP INDEX one_live_phone_a_user;
      CREATE INDEX live_phone ON phone (user_id) WHERE cut_off_at IS NULL;

      CREATE FUNCTION audit_settings_phones() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (database_time(), 'settings changed', NEW.name, 'phones=' || NEW.phones);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_settings_phones AFTER UPDATE OF phones ON application FOR EACH ROW
        WHEN (NEW.phones IS DISTINCT FROM OLD.phones) EXECUTE FUNCTION audit_settings_phones();

      CREATE FUNCTION named_phone(told text, name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
        SELECT told || CASE WHEN name = '' THEN '' ELSE ' (' || name || ')' END
      $$;

      CREATE OR REPLACE FUNCTION audit_session(event text, at bigint, told session) RETURNS void LANGUAGE sql AS $$
        INSERT INTO audit (at, event, application, user_id, phone, session, host, service, account, tty, remote_host,
          address, credential, reason)
        VALUES ($2, $1, application_name($3.application), $3.user_id,
          coalesce((SELECT named_phone(display_name, name) FROM phone
            WHERE id = $3.answered_by AND $3.asked IS NOT NULL), live_phone_name($3.user_id)), $3.id,
          context_part($3.context, 'host'), context_part($3.context, 'service'), context_part($3.context, 'user'),
          context_part($3.context, 'tty'), context_part($3.context, 'remote_host'), $3.address,
          (SELECT name FROM host_credential WHERE id = $3.credential), $3.ending)
      $$;

      CREATE OR REPLACE FUNCTION audit_phone() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone)
        VALUES (CASE TG_OP WHEN 'INSERT' THEN NEW.registered_at ELSE NEW.cut_off_at END,
          CASE TG_OP WHEN 'INSERT' THEN 'phone registered' ELSE 'phone cut off' END,
          application_of_user(NEW.user_id), NEW.user_id, named_phone(NEW.display_name, NEW.name));
        RETURN NULL;
      END $$;
      """)
}
