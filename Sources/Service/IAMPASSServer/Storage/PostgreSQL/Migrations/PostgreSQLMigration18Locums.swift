extension PostgreSQLMigration {
  /// An administrator's phone that may answer once for a user who has none at hand.
  static let locums = PostgreSQLMigration(
    name: "locums", least: 1,
    sql: """
      ALTER TABLE app_user ADD COLUMN locum_phone text;
      ALTER TABLE app_user ADD COLUMN locum_user bigint;
      ALTER TABLE app_user ADD COLUMN locum_name text;
      ALTER TABLE app_user ADD COLUMN locum_until bigint;
      ALTER TABLE session ADD COLUMN locum_phone text;
      ALTER TABLE session ADD COLUMN locum_user bigint;
      ALTER TABLE session ADD COLUMN locum_name text;
      CREATE INDEX locum_session ON session (locum_phone) WHERE locum_phone IS NOT NULL;
      CREATE INDEX helped_session ON session (user_id) WHERE locum_phone IS NOT NULL;

      -- 120000 are the milliseconds that it is good for.
      CREATE FUNCTION audit_locum() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, reason)
        VALUES (NEW.locum_until - 120000, 'locum allowed', application_name(NEW.application), NEW.id,
          live_phone_name(NEW.id), NEW.locum_name);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_locum AFTER UPDATE OF locum_until ON app_user FOR EACH ROW
        WHEN (NEW.locum_phone IS NOT NULL) EXECUTE FUNCTION audit_locum();

      CREATE FUNCTION audit_locum_answered() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, session, host, service, account, tty, remote_host,
          address, credential, reason)
        VALUES (coalesce(NEW.approved_at, NEW.ended_at),
          CASE WHEN NEW.approved_at IS NULL THEN 'locum denied' ELSE 'locum approved' END,
          application_name(NEW.application), NEW.user_id, live_phone_name(NEW.user_id), NEW.id,
          context_part(NEW.context, 'host'), context_part(NEW.context, 'service'), context_part(NEW.context, 'user'),
          context_part(NEW.context, 'tty'), context_part(NEW.context, 'remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.locum_name);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_locum_answered AFTER UPDATE OF answered_by ON session FOR EACH ROW
        WHEN (OLD.answered_by IS NULL AND NEW.answered_by = NEW.locum_phone) EXECUTE FUNCTION audit_locum_answered();

      -- Also for the administrator's phone, at any server.
      CREATE FUNCTION tell_locum() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_notify('iampass_' || md5(TG_TABLE_SCHEMA),
          (SELECT counter FROM service_mark)::text || ' user ' || NEW.locum_user);
        RETURN NULL;
      END $$;
      CREATE TRIGGER told_locum_asked AFTER INSERT ON session FOR EACH ROW
        WHEN (NEW.locum_user IS NOT NULL) EXECUTE FUNCTION tell_locum();
      CREATE TRIGGER told_locum_changed AFTER UPDATE OF status ON session FOR EACH ROW
        WHEN (NEW.locum_user IS NOT NULL AND NEW.status IS DISTINCT FROM OLD.status) EXECUTE FUNCTION tell_locum();
      """)
}
