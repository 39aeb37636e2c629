extension Migration {
  static let serviceTime = Migration(
    "service time",
    sql: """
      CREATE TABLE service_clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        boot_id TEXT,
        since_boot INTEGER NOT NULL,
        time INTEGER NOT NULL,
        unix_time INTEGER NOT NULL,
        is_settled INTEGER NOT NULL
      ) STRICT;

      ALTER TABLE audit ADD COLUMN noted_at INTEGER;
      UPDATE audit SET noted_at = at;
      CREATE INDEX audit_noted_at ON audit (noted_at);

      -- Entries are dated in Unix time, for people, and grow old in service time. Most come in service time; these few have
      -- the time of the database's own clock.
      CREATE TRIGGER audit_noted AFTER INSERT ON audit
      WHEN NEW.event NOT IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
        'credential renamed', 'settings changed')
      BEGIN
        UPDATE audit SET noted_at = NEW.at, at = NEW.at + coalesce((SELECT unix_time - time FROM service_clock), 0)
        WHERE id = NEW.id;
      END;
      CREATE TRIGGER audit_noted_late AFTER INSERT ON audit
      WHEN NEW.event IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
        'credential renamed', 'settings changed')
      BEGIN
        UPDATE audit SET noted_at = coalesce((SELECT time FROM service_clock), NEW.at) WHERE id = NEW.id;
      END;

      ALTER TABLE spent_nonce ADD COLUMN spent_at INTEGER NOT NULL DEFAULT 0;
      UPDATE spent_nonce SET spent_at = forget_at - 600000;
      DROP INDEX spent_nonce_age;
      CREATE INDEX spent_nonce_time ON spent_nonce (spent_at);

      CREATE TABLE forgotten_nonces (
        first INTEGER NOT NULL,
        last INTEGER NOT NULL
      ) STRICT;
      """)
}
