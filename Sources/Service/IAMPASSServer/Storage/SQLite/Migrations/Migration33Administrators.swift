extension Migration {
  /// Administrators with their roles, the browsers that they signed in by their phones, and who changed what.
  static let administrators = Migration(
    "administrators",
    sql: """
      CREATE TABLE administrator (
        name TEXT PRIMARY KEY,
        role TEXT NOT NULL,
        changed_at INTEGER NOT NULL
      ) STRICT;

      -- Of a browser that asks to sign in. A request without a session is one that no phone shows.
      CREATE TABLE console_ask (
        key_hash TEXT PRIMARY KEY,
        session TEXT,
        match_code TEXT NOT NULL,
        expires_at INTEGER NOT NULL
      ) STRICT;

      -- Valid as long as the session that the phone approved is active.
      CREATE TABLE console_visit (
        key_hash TEXT PRIMARY KEY,
        form_token TEXT NOT NULL,
        administrator TEXT NOT NULL,
        session TEXT NOT NULL,
        expires_at INTEGER NOT NULL,
        used_at INTEGER NOT NULL,
        address TEXT
      ) STRICT;

      ALTER TABLE audit ADD COLUMN administrator TEXT;
      ALTER TABLE audit ADD COLUMN approval TEXT;

      CREATE TRIGGER remove_deleted_administrator AFTER DELETE ON user
      WHEN OLD.application = (SELECT value FROM service_fact WHERE name = 'administrators') BEGIN
        DELETE FROM administrator WHERE name = OLD.name;
      END;

      CREATE TRIGGER audit_administrator AFTER INSERT ON administrator BEGIN
        INSERT INTO audit (at, event, account, reason)
        VALUES (NEW.changed_at, 'administrator added', NEW.name, 'role=' || NEW.role);
      END;
      CREATE TRIGGER audit_administrator_changed AFTER UPDATE OF role ON administrator WHEN NEW.role IS NOT OLD.role BEGIN
        INSERT INTO audit (at, event, account, reason)
        VALUES (NEW.changed_at, 'administrator changed', NEW.name, 'role=' || NEW.role || ' was=' || OLD.role);
      END;
      -- The database's own clock, as service time.
      CREATE TRIGGER audit_administrator_removed AFTER DELETE ON administrator BEGIN
        INSERT INTO audit (at, event, account, reason)
        VALUES (CAST(strftime('%s', 'now') AS INTEGER) * 1000
          - coalesce((SELECT unix_time - time FROM service_clock), 0), 'administrator removed', OLD.name, 'role=' || OLD.role);
      END;
      CREATE TRIGGER audit_console_visit AFTER INSERT ON console_visit BEGIN
        INSERT INTO audit (at, event, address, administrator, approval)
        VALUES (NEW.used_at, 'console sign-in', NEW.address, NEW.administrator, NEW.session);
      END;
      """)
}
