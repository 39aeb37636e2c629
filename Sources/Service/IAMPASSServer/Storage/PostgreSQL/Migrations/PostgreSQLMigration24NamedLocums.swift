extension PostgreSQLMigration {
  /// Which user and phone a locum was: what a phone shows for its owner may be anything.
  static let namedLocums = PostgreSQLMigration(
    name: "named locums", least: 1,
    sql: """
      ALTER TABLE audit ADD COLUMN locum text;
      ALTER TABLE audit ADD COLUMN locum_phone text;

      CREATE FUNCTION locum_user_name(of_application text, of_user bigint) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT coalesce((SELECT name FROM listed_user WHERE application = of_application AND user_id = of_user),
          'user ' || of_user)
      $$;

      CREATE OR REPLACE FUNCTION audit_locum() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, reason, locum, locum_phone)
        VALUES (NEW.locum_until - 120000, 'locum allowed', application_name(NEW.application), NEW.id,
          live_phone_name(NEW.id), NEW.locum_name, locum_user_name(NEW.application, NEW.locum_user), NEW.locum_phone);
        RETURN NULL;
      END $$;

      CREATE OR REPLACE FUNCTION audit_locum_answered() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, session, host, service, account, tty, remote_host,
          address, credential, reason, locum, locum_phone)
        VALUES (coalesce(NEW.approved_at, NEW.ended_at),
          CASE WHEN NEW.approved_at IS NULL THEN 'locum denied' ELSE 'locum approved' END,
          application_name(NEW.application), NEW.user_id, live_phone_name(NEW.user_id), NEW.id,
          context_part(NEW.context, 'host'), context_part(NEW.context, 'service'), context_part(NEW.context, 'user'),
          context_part(NEW.context, 'tty'), context_part(NEW.context, 'remote_host'), NEW.address,
          (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.locum_name,
          locum_user_name(NEW.application, NEW.locum_user), NEW.locum_phone);
        RETURN NULL;
      END $$;
      """)
}
