extension Migration {
  static let console = Migration(
    "console",
    sql: """
      CREATE TABLE console_link (
        code_hash TEXT PRIMARY KEY,
        expires_at INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE console_session (
        key_hash TEXT PRIMARY KEY,
        form_token TEXT NOT NULL,
        expires_at INTEGER NOT NULL,
        used_at INTEGER NOT NULL
      ) STRICT;

      -- What the service says of itself to the commands beside it.
      CREATE TABLE service_fact (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
      ) STRICT;

      ALTER TABLE application ADD COLUMN walkaway INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE application ADD COLUMN answer_time INTEGER NOT NULL DEFAULT 60;
      ALTER TABLE application ADD COLUMN greatest_duration INTEGER NOT NULL DEFAULT 2592000;
      ALTER TABLE application ADD COLUMN hook TEXT NOT NULL DEFAULT '';
      ALTER TABLE application ADD COLUMN disabled_at INTEGER;
      ALTER TABLE session ADD COLUMN answer_time INTEGER NOT NULL DEFAULT 60;
      ALTER TABLE user ADD COLUMN last_used_at INTEGER;

      CREATE TRIGGER user_last_use AFTER UPDATE OF approved_at ON session
      WHEN NEW.approved_at IS NOT OLD.approved_at BEGIN
        UPDATE user SET last_used_at = NEW.approved_at WHERE id = NEW.user;
      END;

      CREATE TRIGGER audit_settings AFTER UPDATE OF walkaway, answer_time, greatest_duration, hook, disabled_at ON application
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'settings changed', NEW.name,
          CASE WHEN NEW.disabled_at IS NOT OLD.disabled_at THEN iif(NEW.disabled_at IS NULL, 'enabled', 'disabled') END);
      END;

      ALTER TABLE application ADD COLUMN silence_leaves INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE phone ADD COLUMN heard_at INTEGER;
      ALTER TABLE phone ADD COLUMN is_silent INTEGER NOT NULL DEFAULT 0;
      """)
}
