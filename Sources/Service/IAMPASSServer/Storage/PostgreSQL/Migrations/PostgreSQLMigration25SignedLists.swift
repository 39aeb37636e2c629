extension PostgreSQLMigration {
  /// What administrators' phones sign: sets of administrators, and applications' lists of users. See
  /// ``Migration/signedLists``.
  static let signedLists = PostgreSQLMigration(
    name: "signed lists", least: 1,
    sql: """
      CREATE TABLE administrator_set (
        set_number bigint PRIMARY KEY,
        document text NOT NULL,
        proof text,
        signer text NOT NULL,
        made_at bigint NOT NULL
      );

      CREATE TABLE signed_list (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        serial bigint NOT NULL,
        head text NOT NULL,
        proof text NOT NULL,
        signer text NOT NULL,
        signer_phone text NOT NULL,
        set_number bigint NOT NULL,
        signed_at bigint NOT NULL,
        PRIMARY KEY (application, serial)
      );

      CREATE TABLE list_number (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        epoch bigint NOT NULL,
        last_number bigint NOT NULL,
        PRIMARY KEY (application, epoch)
      );

      CREATE TABLE signed_line (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        first_serial bigint NOT NULL,
        last_serial bigint,
        groups text NOT NULL,
        line text NOT NULL,
        PRIMARY KEY (application, name, first_serial)
      );

      CREATE TABLE document_order (
        id text PRIMARY KEY,
        kind text NOT NULL,
        application text REFERENCES application ON DELETE CASCADE,
        recovery_key text,
        administrator text NOT NULL,
        ordered_at bigint NOT NULL,
        taken_at bigint,
        document text,
        session text,
        ended_at bigint,
        outcome text
      );
      CREATE INDEX document_order_session ON document_order (session);
      CREATE INDEX open_document_order ON document_order (ordered_at) WHERE outcome IS NULL;

      CREATE TABLE document_line (
        document text NOT NULL REFERENCES document_order ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        groups text NOT NULL,
        line text NOT NULL,
        PRIMARY KEY (document, name)
      );

      ALTER TABLE join_code ADD COLUMN set_number bigint;
      ALTER TABLE host_report ADD COLUMN list_epoch bigint;

      CREATE FUNCTION audit_administrator_set() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, account, reason)
        VALUES (NEW.made_at, 'administrators signed', nullif(NEW.signer, ''), 'number=' || NEW.set_number);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_administrator_set AFTER INSERT ON administrator_set FOR EACH ROW
        EXECUTE FUNCTION audit_administrator_set();

      CREATE FUNCTION audit_signed_list() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, account, reason)
        VALUES (NEW.signed_at, 'user list signed', (SELECT name FROM application WHERE id = NEW.application), NEW.signer,
          'version=' || (NEW.head::json ->> 'epoch') || '.' || (NEW.head::json ->> 'number'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_signed_list AFTER INSERT ON signed_list FOR EACH ROW EXECUTE FUNCTION audit_signed_list();
      """)
}
