extension PostgreSQLMigration {
  /// Codes by which computers join, and who asked by one. A waiting computer's secret goes into its credential once it is
  /// approved, and is forgotten here.
  static let joining = PostgreSQLMigration(
    name: "joining", least: 1,
    sql: """
      CREATE TABLE join_code (
        id text PRIMARY KEY,
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        digest text NOT NULL UNIQUE,
        uses bigint NOT NULL,
        is_unattended bigint NOT NULL,
        created_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        revoked_at bigint
      );

      CREATE TABLE joining (
        id text PRIMARY KEY,
        code text NOT NULL REFERENCES join_code ON DELETE CASCADE,
        name text NOT NULL,
        mark text NOT NULL,
        secret text,
        secret_digest text NOT NULL,
        state text NOT NULL,
        address text NOT NULL,
        asked_at bigint NOT NULL,
        decided_at bigint,
        credential text REFERENCES host_credential ON DELETE SET NULL
      );
      CREATE INDEX joining_of_code ON joining (code);
      CREATE INDEX waiting_joining ON joining (name) WHERE state = 'waiting';

      CREATE FUNCTION audit_join_code() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (NEW.created_at, 'join code made', (SELECT name FROM application WHERE id = NEW.application),
          'code=' || NEW.id || ' uses=' || NEW.uses || CASE WHEN NEW.is_unattended <> 0 THEN ' unattended' ELSE '' END);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_join_code AFTER INSERT ON join_code FOR EACH ROW EXECUTE FUNCTION audit_join_code();

      CREATE FUNCTION audit_join_code_revoked() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (NEW.revoked_at, 'join code revoked', (SELECT name FROM application WHERE id = NEW.application),
          'code=' || NEW.id);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_join_code_revoked AFTER UPDATE OF revoked_at ON join_code FOR EACH ROW
        WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION audit_join_code_revoked();

      CREATE FUNCTION audit_joining() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, host, address, credential, reason)
        SELECT CASE WHEN TG_OP = 'INSERT' THEN NEW.asked_at ELSE NEW.decided_at END,
          CASE WHEN TG_OP = 'INSERT' THEN 'computer asked to join'
            WHEN NEW.state = 'joined' THEN 'computer joined' ELSE 'computer refused' END,
          application.name, NEW.name, NEW.address, (SELECT name FROM host_credential WHERE id = NEW.credential),
          'code=' || NEW.code
        FROM join_code JOIN application ON application.id = join_code.application WHERE join_code.id = NEW.code;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_joining AFTER INSERT ON joining FOR EACH ROW EXECUTE FUNCTION audit_joining();
      CREATE TRIGGER audit_joining_decided AFTER UPDATE OF state ON joining FOR EACH ROW
        WHEN (NEW.state IS DISTINCT FROM OLD.state) EXECUTE FUNCTION audit_joining();
      """)
}
