extension Migration {
  /// Codes by which computers join, and who asked by one. A waiting computer's secret goes into its credential once it is
  /// approved, and is forgotten here.
  static let joining = Migration(
    "joining",
    sql: """
      CREATE TABLE join_code (
        id TEXT PRIMARY KEY,
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        digest TEXT NOT NULL UNIQUE,
        uses INTEGER NOT NULL,
        is_unattended INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        revoked_at INTEGER
      ) STRICT;

      CREATE TABLE joining (
        id TEXT PRIMARY KEY,
        code TEXT NOT NULL REFERENCES join_code ON DELETE CASCADE,
        name TEXT NOT NULL,
        mark TEXT NOT NULL,
        secret TEXT,
        secret_digest TEXT NOT NULL,
        state TEXT NOT NULL,
        address TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        decided_at INTEGER,
        credential TEXT REFERENCES host_credential ON DELETE SET NULL
      ) STRICT;
      CREATE INDEX joining_of_code ON joining (code);
      CREATE INDEX waiting_joining ON joining (name) WHERE state = 'waiting';

      CREATE TRIGGER audit_join_code AFTER INSERT ON join_code BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (NEW.created_at, 'join code made', (SELECT name FROM application WHERE id = NEW.application),
          'code=' || NEW.id || ' uses=' || NEW.uses || iif(NEW.is_unattended, ' unattended', ''));
      END;

      CREATE TRIGGER audit_join_code_revoked AFTER UPDATE OF revoked_at ON join_code
      WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (NEW.revoked_at, 'join code revoked', (SELECT name FROM application WHERE id = NEW.application),
          'code=' || NEW.id);
      END;

      CREATE TRIGGER audit_joining AFTER INSERT ON joining BEGIN
        INSERT INTO audit (at, event, application, host, address, reason)
        SELECT NEW.asked_at, 'computer asked to join', application.name, NEW.name, NEW.address, 'code=' || NEW.code
        FROM join_code JOIN application ON application.id = join_code.application WHERE join_code.id = NEW.code;
      END;

      CREATE TRIGGER audit_joining_decided AFTER UPDATE OF state ON joining WHEN NEW.state IS NOT OLD.state BEGIN
        INSERT INTO audit (at, event, application, host, address, credential, reason)
        SELECT NEW.decided_at, iif(NEW.state = 'joined', 'computer joined', 'computer refused'), application.name,
          NEW.name, NEW.address, (SELECT name FROM host_credential WHERE id = NEW.credential), 'code=' || NEW.code
        FROM join_code JOIN application ON application.id = join_code.application WHERE join_code.id = NEW.code;
      END;
      """)
}
