extension Migration {
  /// Which computer's credential an entry of the audit is about: names of credentials change, and are given again.
  static let signInNames = Migration(
    "names of sign-ins",
    sql: """
      ALTER TABLE audit ADD COLUMN credential_id TEXT;
      UPDATE audit SET credential_id = (SELECT credential FROM session WHERE id = audit.session)
      WHERE session IS NOT NULL;
      CREATE INDEX audit_credential_id ON audit (credential_id, id) WHERE credential_id IS NOT NULL;

      CREATE TRIGGER audit_credential_id AFTER INSERT ON audit
      WHEN NEW.session IS NOT NULL AND NEW.credential_id IS NULL BEGIN
        UPDATE audit SET credential_id = (SELECT credential FROM session WHERE id = NEW.session) WHERE id = NEW.id;
      END;
      """)
}
