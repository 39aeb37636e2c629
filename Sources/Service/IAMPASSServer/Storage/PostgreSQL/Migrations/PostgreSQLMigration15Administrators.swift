extension PostgreSQLMigration {
  /// Administrators with their roles, the browsers that they signed in by their phones, and who changed what. A
  /// transaction says by two settings of its own who changes something.
  static let administrators = PostgreSQLMigration(
    name: "administrators", least: 1,
    sql: """
      CREATE TABLE administrator (
        name text PRIMARY KEY,
        role text NOT NULL,
        changed_at bigint NOT NULL
      );

      -- Of a browser that asks to sign in. A request without a session is one that no phone shows.
      CREATE TABLE console_ask (
        key_hash text PRIMARY KEY,
        session text,
        match_code text NOT NULL,
        expires_at bigint NOT NULL
      );

      -- Valid as long as the session that the phone approved is active.
      CREATE TABLE console_visit (
        key_hash text PRIMARY KEY,
        form_token text NOT NULL,
        administrator text NOT NULL,
        session text NOT NULL,
        expires_at bigint NOT NULL,
        used_at bigint NOT NULL,
        address text
      );

      ALTER TABLE audit ADD COLUMN administrator text DEFAULT nullif(current_setting('iampass.administrator', true), '');
      ALTER TABLE audit ADD COLUMN approval text DEFAULT nullif(current_setting('iampass.approval', true), '');

      CREATE FUNCTION remove_deleted_administrator() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF OLD.application = (SELECT value FROM service_fact WHERE name = 'administrators') THEN
          DELETE FROM administrator WHERE name = OLD.name;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER remove_deleted_administrator AFTER DELETE ON app_user FOR EACH ROW
        EXECUTE FUNCTION remove_deleted_administrator();

      -- A removal has the database's own clock, as service time.
      CREATE FUNCTION audit_administrator() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO audit (at, event, account, reason)
          VALUES (NEW.changed_at, 'administrator added', NEW.name, 'role=' || NEW.role);
        ELSIF TG_OP = 'UPDATE' THEN
          INSERT INTO audit (at, event, account, reason)
          VALUES (NEW.changed_at, 'administrator changed', NEW.name, 'role=' || NEW.role || ' was=' || OLD.role);
        ELSE
          INSERT INTO audit (at, event, account, reason)
          VALUES (database_time() - coalesce((SELECT unix_time - time FROM service_clock), 0), 'administrator removed',
            OLD.name, 'role=' || OLD.role);
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_administrator AFTER INSERT OR DELETE ON administrator FOR EACH ROW
        EXECUTE FUNCTION audit_administrator();
      CREATE TRIGGER audit_administrator_changed AFTER UPDATE OF role ON administrator FOR EACH ROW
        WHEN (NEW.role IS DISTINCT FROM OLD.role) EXECUTE FUNCTION audit_administrator();

      CREATE FUNCTION audit_console_visit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, address, administrator, approval)
        VALUES (NEW.used_at, 'console sign-in', NEW.address, NEW.administrator, NEW.session);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_console_visit AFTER INSERT ON console_visit FOR EACH ROW EXECUTE FUNCTION audit_console_visit();
      """)
}
