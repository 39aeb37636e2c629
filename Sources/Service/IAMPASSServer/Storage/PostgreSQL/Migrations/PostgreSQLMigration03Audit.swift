extension PostgreSQLMigration {
  /// The audit of sessions, phones, users, applications and credentials. It has no names of users that applications
  /// chose: they are the tokens in the users files of the computers.
  static let audit = PostgreSQLMigration(
    name: "audit", least: 1,
    sql: """
      CREATE TABLE audit (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at bigint NOT NULL,
        event text NOT NULL,
        application text,
        user_id bigint,
        phone text,
        session text,
        host text,
        service text,
        account text,
        tty text,
        remote_host text,
        address text,
        credential text,
        reason text,
        noted_at bigint
      );
      CREATE INDEX audit_noted_at ON audit (noted_at);

      CREATE FUNCTION database_time() RETURNS bigint LANGUAGE sql VOLATILE AS $$
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
      $$;
      CREATE FUNCTION application_name(text) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT name FROM application WHERE id = $1
      $$;
      CREATE FUNCTION application_of_user(bigint) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT application.name FROM app_user JOIN application ON application.id = app_user.application
        WHERE app_user.id = $1
      $$;
      CREATE FUNCTION live_phone_name(bigint) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT display_name FROM phone WHERE user_id = $1 AND cut_off_at IS NULL
      $$;
      -- The service refuses a context with NUL, which PostgreSQL's texts cannot have.
      CREATE FUNCTION context_part(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
        SELECT $1::json ->> $2
      $$;

      -- Entries are dated in Unix time, for people, and grow old in service time. Most come in service time; these few
      -- have the time of the database's own clock.
      CREATE FUNCTION audit_noted() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.event IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
          'credential renamed', 'settings changed', 'signing key removed')
        THEN
          NEW.noted_at = coalesce((SELECT time FROM service_clock), NEW.at);
        ELSE
          NEW.noted_at = NEW.at;
          NEW.at = NEW.at + coalesce((SELECT unix_time - time FROM service_clock), 0);
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER audit_noted BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_noted();

      CREATE FUNCTION audit_session(event text, at bigint, told session) RETURNS void LANGUAGE sql AS $$
        INSERT INTO audit (at, event, application, user_id, phone, session, host, service, account, tty, remote_host,
          address, credential, reason)
        VALUES ($2, $1, application_name($3.application), $3.user_id, live_phone_name($3.user_id), $3.id,
          context_part($3.context, 'host'), context_part($3.context, 'service'), context_part($3.context, 'user'),
          context_part($3.context, 'tty'), context_part($3.context, 'remote_host'), $3.address,
          (SELECT name FROM host_credential WHERE id = $3.credential), $3.ending)
      $$;
      CREATE FUNCTION audit_asked() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM audit_session('asked', NEW.started_at, NEW);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_asked AFTER INSERT ON session FOR EACH ROW EXECUTE FUNCTION audit_asked();
      CREATE FUNCTION audit_session_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM audit_session(
          CASE
            WHEN NEW.status = 'active' AND OLD.status = 'walkaway' THEN 'back'
            WHEN NEW.status = 'active' THEN 'approved'
            WHEN NEW.status = 'walkaway' THEN 'walked away'
            WHEN NEW.ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') THEN 'denied'
            ELSE 'ended'
          END,
          coalesce(NEW.ended_at,
            CASE WHEN 'walkaway' IN (OLD.status, NEW.status) THEN database_time() ELSE NEW.approved_at END,
            database_time()),
          NEW);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_session AFTER UPDATE OF status ON session FOR EACH ROW
        WHEN (NEW.status IS DISTINCT FROM OLD.status AND NEW.status NOT IN ('pending', 'identifying'))
        EXECUTE FUNCTION audit_session_changed();

      CREATE FUNCTION audit_phone() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone)
        VALUES (CASE TG_OP WHEN 'INSERT' THEN NEW.registered_at ELSE NEW.cut_off_at END,
          CASE TG_OP WHEN 'INSERT' THEN 'phone registered' ELSE 'phone cut off' END,
          application_of_user(NEW.user_id), NEW.user_id, NEW.display_name);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_phone AFTER INSERT ON phone FOR EACH ROW EXECUTE FUNCTION audit_phone();
      CREATE TRIGGER audit_phone_cut_off AFTER UPDATE OF cut_off_at ON phone FOR EACH ROW
        WHEN (OLD.cut_off_at IS NULL AND NEW.cut_off_at IS NOT NULL) EXECUTE FUNCTION audit_phone();

      CREATE FUNCTION audit_user() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO audit (at, event, application, user_id)
          VALUES (database_time(), 'user added', application_name(NEW.application), NEW.id);
        ELSE
          INSERT INTO audit (at, event, application, user_id)
          VALUES (database_time(), 'user deleted', application_name(OLD.application), OLD.id);
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_user AFTER INSERT OR DELETE ON app_user FOR EACH ROW EXECUTE FUNCTION audit_user();

      CREATE FUNCTION audit_application() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO audit (at, event, application) VALUES (NEW.created_at, 'application made', NEW.name);
        ELSE
          INSERT INTO audit (at, event, application) VALUES (database_time(), 'application secret renewed', NEW.name);
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_application AFTER INSERT ON application FOR EACH ROW EXECUTE FUNCTION audit_application();
      CREATE TRIGGER audit_secret AFTER UPDATE OF secret ON application FOR EACH ROW
        WHEN (NEW.secret IS DISTINCT FROM OLD.secret) EXECUTE FUNCTION audit_application();

      CREATE FUNCTION audit_credential() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, host, credential)
        VALUES (CASE TG_OP WHEN 'INSERT' THEN NEW.created_at ELSE NEW.revoked_at END,
          CASE TG_OP WHEN 'INSERT' THEN 'credential made' ELSE 'credential revoked' END,
          application_name(NEW.application), NEW.host, NEW.name);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_credential AFTER INSERT ON host_credential FOR EACH ROW
        EXECUTE FUNCTION audit_credential();
      CREATE TRIGGER audit_credential_revoked AFTER UPDATE OF revoked_at ON host_credential FOR EACH ROW
        WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION audit_credential();
      """)
}
