extension PostgreSQLMigration {
  /// Which computer's credential an entry of the audit is about: names of credentials change, and are given again. A
  /// trigger finds the credential, so that servers of a version before note it, too.
  static let signInNames = PostgreSQLMigration(
    name: "names of sign-ins", least: 1,
    sql: """
      ALTER TABLE audit ADD COLUMN credential_id text;
      UPDATE audit SET credential_id = session.credential FROM session
      WHERE audit.session = session.id AND session.credential IS NOT NULL;
      CREATE INDEX audit_credential_id ON audit (credential_id, id) WHERE credential_id IS NOT NULL;

      CREATE FUNCTION audit_credential_id() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.credential_id = (SELECT credential FROM session WHERE id = NEW.session);
        RETURN NEW;
      END $$;
      CREATE TRIGGER audit_credential_id BEFORE INSERT ON audit FOR EACH ROW
        WHEN (NEW.session IS NOT NULL AND NEW.credential_id IS NULL) EXECUTE FUNCTION audit_credential_id();
      """, parts: [credentialsFromNowOn, credentialsOfBefore])

  /// Needs the audit for itself, but for a moment.
  private static let credentialsFromNowOn = PostgreSQLMigration(
    name: "names of sign-ins, from now on", least: 1,
    sql: """
      ALTER TABLE audit ADD COLUMN credential_id text;

      CREATE FUNCTION audit_credential_id() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.credential_id = (SELECT credential FROM session WHERE id = NEW.session);
        RETURN NEW;
      END $$;
      CREATE TRIGGER audit_credential_id BEFORE INSERT ON audit FOR EACH ROW
        WHEN (NEW.session IS NOT NULL AND NEW.credential_id IS NULL) EXECUTE FUNCTION audit_credential_id();
      """)

  /// Whoever writes entries does not wait for those that this changes.
  private static let credentialsOfBefore = PostgreSQLMigration(
    name: "names of sign-ins", least: 1,
    sql: """
      UPDATE audit SET credential_id = session.credential FROM session
      WHERE audit.session = session.id AND session.credential IS NOT NULL AND audit.credential_id IS NULL;
      CREATE INDEX audit_credential_id ON audit (credential_id, id) WHERE credential_id IS NOT NULL;
      """)
}
