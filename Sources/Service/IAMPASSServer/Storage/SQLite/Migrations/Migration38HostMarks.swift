extension Migration {
  /// The marks by which copied computers are noticed, and whether such computers are held.
  static let hostMarks = Migration(
    "computers' marks",
    sql: """
      ALTER TABLE application ADD COLUMN hold_clones INTEGER NOT NULL DEFAULT 0;

      CREATE TABLE host_mark (
        credential TEXT PRIMARY KEY REFERENCES host_credential ON DELETE CASCADE,
        mark TEXT NOT NULL,
        previous TEXT,
        address TEXT,
        seen_at INTEGER NOT NULL,
        other_mark TEXT,
        other_address TEXT,
        forked_at INTEGER,
        fork_seen_at INTEGER,
        are_both_used INTEGER NOT NULL,
        settled_at INTEGER
      ) STRICT;

      CREATE TRIGGER audit_settings_clones AFTER UPDATE OF hold_clones ON application
      WHEN NEW.hold_clones IS NOT OLD.hold_clones BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'settings changed', NEW.name,
          'hold-clones=' || iif(NEW.hold_clones, 'yes', 'no'));
      END;

      CREATE TRIGGER audit_host_forked AFTER UPDATE ON host_mark
      WHEN OLD.forked_at IS NULL AND NEW.forked_at IS NOT NULL BEGIN
        INSERT INTO audit (at, event, application, host, credential, address, reason)
        SELECT NEW.forked_at, 'computer copied or put back', application.name, host_credential.host,
          host_credential.name, NEW.address, 'also ' || coalesce(NEW.other_address, '-')
        FROM host_credential JOIN application ON application.id = host_credential.application
        WHERE host_credential.id = NEW.credential;
      END;

      CREATE TRIGGER audit_host_copied AFTER UPDATE ON host_mark WHEN NEW.are_both_used AND NOT OLD.are_both_used BEGIN
        INSERT INTO audit (at, event, application, host, credential, address, reason)
        SELECT NEW.fork_seen_at, 'computer copied', application.name, host_credential.host, host_credential.name,
          NEW.address, 'also ' || coalesce(NEW.other_address, '-')
        FROM host_credential JOIN application ON application.id = host_credential.application
        WHERE host_credential.id = NEW.credential;
      END;

      CREATE TRIGGER audit_host_settled AFTER UPDATE ON host_mark
      WHEN OLD.forked_at IS NOT NULL AND NEW.forked_at IS NULL BEGIN
        INSERT INTO audit (at, event, application, host, credential)
        SELECT NEW.settled_at, 'computer settled', application.name, host_credential.host, host_credential.name
        FROM host_credential JOIN application ON application.id = host_credential.application
        WHERE host_credential.id = NEW.credential;
      END;
      """)
}
