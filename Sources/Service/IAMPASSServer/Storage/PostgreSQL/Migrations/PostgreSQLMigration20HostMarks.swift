extension PostgreSQLMigration {
  /// The marks by which copied computers are noticed, and whether such computers are held.
  static let hostMarks = PostgreSQLMigration(
    name: "computers' marks", least: 1,
    sql: """
      ALTER TABLE application ADD COLUMN hold_clones bigint NOT NULL DEFAULT 0;

      CREATE TABLE host_mark (
        credential text PRIMARY KEY REFERENCES host_credential ON DELETE CASCADE,
        mark text NOT NULL,
        previous text,
        address text,
        seen_at bigint NOT NULL,
        other_mark text,
        other_address text,
        forked_at bigint,
        fork_seen_at bigint,
        are_both_used bigint NOT NULL,
        settled_at bigint
      );

      CREATE FUNCTION audit_settings_clones() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (database_time(), 'settings changed', NEW.name,
          'hold-clones=' || CASE WHEN NEW.hold_clones <> 0 THEN 'yes' ELSE 'no' END);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_settings_clones AFTER UPDATE OF hold_clones ON application FOR EACH ROW
        WHEN (NEW.hold_clones IS DISTINCT FROM OLD.hold_clones) EXECUTE FUNCTION audit_settings_clones();

      CREATE FUNCTION audit_host_mark() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF OLD.forked_at IS NULL AND NEW.forked_at IS NOT NULL THEN
          INSERT INTO audit (at, event, application, host, credential, address, reason)
          SELECT NEW.forked_at, 'computer copied or put back', application_name(application), host, name, NEW.address,
            'also ' || coalesce(NEW.other_address, '-')
          FROM host_credential WHERE id = NEW.credential;
        END IF;
        IF NEW.are_both_used <> 0 AND OLD.are_both_used = 0 THEN
          INSERT INTO audit (at, event, application, host, credential, address, reason)
          SELECT NEW.fork_seen_at, 'computer copied', application_name(application), host, name, NEW.address,
            'also ' || coalesce(NEW.other_address, '-')
          FROM host_credential WHERE id = NEW.credential;
        END IF;
        IF OLD.forked_at IS NOT NULL AND NEW.forked_at IS NULL THEN
          INSERT INTO audit (at, event, application, host, credential)
          SELECT NEW.settled_at, 'computer settled', application_name(application), host, name
          FROM host_credential WHERE id = NEW.credential;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_host_mark AFTER UPDATE ON host_mark FOR EACH ROW EXECUTE FUNCTION audit_host_mark();
      """)
}
