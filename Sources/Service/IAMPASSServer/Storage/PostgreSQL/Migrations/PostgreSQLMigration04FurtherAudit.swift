extension PostgreSQLMigration {
  /// The audit of links, credentials' names, settings, the console and signing keys. 900000 and 600000 are the
  /// milliseconds that links for phones and for the console worked when this was released.
  static let furtherAudit = PostgreSQLMigration(
    name: "further audit", least: 1,
    sql: """
      CREATE FUNCTION audit_link() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, reason)
        VALUES (NEW.expires_at - 900000, 'registration link made', application_of_user(NEW.user_id), NEW.user_id,
          NEW.display_name, CASE WHEN NEW.replaces_phone <> 0 THEN 'PHONE_LOST' END);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_link AFTER INSERT ON link FOR EACH ROW EXECUTE FUNCTION audit_link();

      -- Before, since a replaced one is gone afterwards.
      CREATE FUNCTION audit_phone_credential() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone)
        SELECT NEW.added_at,
          CASE WHEN EXISTS (SELECT 1 FROM phone_credential WHERE phone = NEW.phone) THEN 'phone credential replaced'
            ELSE 'phone credential added' END,
          application_of_user(phone.user_id), phone.user_id, phone.display_name
        FROM phone WHERE phone.id = NEW.phone;
        RETURN NEW;
      END $$;
      CREATE TRIGGER audit_phone_credential BEFORE INSERT ON phone_credential FOR EACH ROW
        EXECUTE FUNCTION audit_phone_credential();

      CREATE FUNCTION audit_console_link() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event) VALUES (NEW.expires_at - 600000, 'console link made');
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_console_link AFTER INSERT ON console_link FOR EACH ROW EXECUTE FUNCTION audit_console_link();
      CREATE FUNCTION audit_console_session() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, address) VALUES (NEW.used_at, 'console sign-in', NEW.address);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_console_session AFTER INSERT ON console_session FOR EACH ROW
        EXECUTE FUNCTION audit_console_session();

      CREATE FUNCTION audit_credential_renamed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, host, credential, reason)
        VALUES (database_time(), 'credential renamed', application_name(NEW.application), NEW.host, NEW.name,
          'was ' || OLD.name);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_credential_renamed AFTER UPDATE OF name ON host_credential FOR EACH ROW
        WHEN (NEW.name IS DISTINCT FROM OLD.name) EXECUTE FUNCTION audit_credential_renamed();

      CREATE FUNCTION audit_settings() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (database_time(), 'settings changed', NEW.name, concat_ws(' ',
          CASE WHEN NEW.disabled_at IS DISTINCT FROM OLD.disabled_at THEN
            CASE WHEN NEW.disabled_at IS NULL THEN 'enabled' ELSE 'disabled' END END,
          CASE WHEN NEW.walkaway IS DISTINCT FROM OLD.walkaway THEN
            'walkaway=' || CASE WHEN NEW.walkaway <> 0 THEN 'on' ELSE 'off' END END,
          CASE WHEN NEW.silence_leaves IS DISTINCT FROM OLD.silence_leaves THEN
            'silence=' || CASE WHEN NEW.silence_leaves <> 0 THEN 'on' ELSE 'off' END END,
          CASE WHEN NEW.match_code IS DISTINCT FROM OLD.match_code THEN
            'match-code=' || CASE NEW.match_code WHEN 0 THEN 'off' WHEN 1 THEN 'on' ELSE 'required' END END,
          CASE WHEN NEW.answer_time IS DISTINCT FROM OLD.answer_time THEN 'answer-time=' || NEW.answer_time END,
          CASE WHEN NEW.greatest_duration IS DISTINCT FROM OLD.greatest_duration THEN
            'greatest-duration=' || NEW.greatest_duration END,
          CASE WHEN NEW.hook IS DISTINCT FROM OLD.hook THEN 'program=' || NEW.hook END));
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_settings
        AFTER UPDATE OF disabled_at, walkaway, silence_leaves, match_code, answer_time, greatest_duration, hook
        ON application FOR EACH ROW
        WHEN ((NEW.disabled_at, NEW.walkaway, NEW.silence_leaves, NEW.match_code, NEW.answer_time,
            NEW.greatest_duration, NEW.hook)
          IS DISTINCT FROM
          (OLD.disabled_at, OLD.walkaway, OLD.silence_leaves, OLD.match_code, OLD.answer_time,
            OLD.greatest_duration, OLD.hook))
        EXECUTE FUNCTION audit_settings();

      CREATE FUNCTION audit_signing_key() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO audit (at, event, reason) VALUES (NEW.made_at, 'signing key made', NEW.id);
        ELSE
          INSERT INTO audit (at, event, reason) VALUES (database_time(), 'signing key removed', OLD.id);
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_signing_key AFTER INSERT OR DELETE ON signing_key FOR EACH ROW
        EXECUTE FUNCTION audit_signing_key();
      """)
}
