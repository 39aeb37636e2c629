extension Migration {
  /// What administrators' phones sign: sets of administrators, and applications' lists of users.
  ///
  /// A line of a list is good from the list `first_serial` until before the list `last_serial`: lists that differ little
  /// share their lines. `list_number` has the last number that was given to a list, signed or not.
  static let signedLists = Migration(
    "signed lists",
    sql: """
      CREATE TABLE administrator_set (
        set_number INTEGER PRIMARY KEY,
        document TEXT NOT NULL,
        proof TEXT,
        signer TEXT NOT NULL,
        made_at INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE signed_list (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        serial INTEGER NOT NULL,
        head TEXT NOT NULL,
        proof TEXT NOT NULL,
        signer TEXT NOT NULL,
        signer_phone TEXT NOT NULL,
        set_number INTEGER NOT NULL,
        signed_at INTEGER NOT NULL,
        PRIMARY KEY (application, serial)
      ) STRICT;

      CREATE TABLE list_number (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        epoch INTEGER NOT NULL,
        last_number INTEGER NOT NULL,
        PRIMARY KEY (application, epoch)
      ) STRICT;

      CREATE TABLE signed_line (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        name TEXT NOT NULL,
        first_serial INTEGER NOT NULL,
        last_serial INTEGER,
        groups TEXT NOT NULL,
        line TEXT NOT NULL,
        PRIMARY KEY (application, name, first_serial)
      ) STRICT;

      CREATE TABLE document_order (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        application TEXT REFERENCES application ON DELETE CASCADE,
        recovery_key TEXT,
        administrator TEXT NOT NULL,
        ordered_at INTEGER NOT NULL,
        taken_at INTEGER,
        document TEXT,
        session TEXT,
        ended_at INTEGER,
        outcome TEXT
      ) STRICT;
      CREATE INDEX document_order_session ON document_order (session);
      CREATE INDEX open_document_order ON document_order (ordered_at) WHERE outcome IS NULL;

      CREATE TABLE document_line (
        document TEXT NOT NULL REFERENCES document_order ON DELETE CASCADE,
        name TEXT NOT NULL,
        groups TEXT NOT NULL,
        line TEXT NOT NULL,
        PRIMARY KEY (document, name)
      ) STRICT;

      -- Of the administrators that the code names; without one for a code of a service that signed nothing then.
      ALTER TABLE join_code ADD COLUMN set_number INTEGER;
      -- Of a signed list.
      ALTER TABLE host_report ADD COLUMN list_epoch INTEGER;

      CREATE TRIGGER audit_administrator_set AFTER INSERT ON administrator_set BEGIN
        INSERT INTO audit (at, event, account, reason)
        VALUES (NEW.made_at, 'administrators signed', nullif(NEW.signer, ''), 'number=' || NEW.set_number);
      END;
      CREATE TRIGGER audit_signed_list AFTER INSERT ON signed_list BEGIN
        INSERT INTO audit (at, event, application, account, reason)
        VALUES (NEW.signed_at, 'user list signed', (SELECT name FROM application WHERE id = NEW.application), NEW.signer,
          'version=' || json_extract(NEW.head, '$.epoch') || '.' || json_extract(NEW.head, '$.number'));
      END;
      """)
}
