extension Migration {
  static let approvalTokens = Migration(
    "approval tokens",
    sql: """
      ALTER TABLE session ADD COLUMN id_token_nonce TEXT;

      CREATE TABLE signing_key (
        id TEXT NOT NULL PRIMARY KEY,
        private_key TEXT NOT NULL,
        made_at INTEGER NOT NULL
      );

      CREATE TRIGGER audit_signing_key AFTER INSERT ON signing_key BEGIN
        INSERT INTO audit (at, event, reason) VALUES (NEW.made_at, 'signing key made', NEW.id);
      END;

      CREATE TRIGGER audit_signing_key_removed AFTER DELETE ON signing_key BEGIN
        INSERT INTO audit (at, event, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'signing key removed', OLD.id);
      END;
      """)
}
