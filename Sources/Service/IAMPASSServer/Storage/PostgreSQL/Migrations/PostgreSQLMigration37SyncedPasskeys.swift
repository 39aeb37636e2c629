extension PostgreSQLMigration {
  /// Whether an application accepts passkeys that are synced between devices, and whether a phone's may be.
  ///
  /// `backup_of` is the credential that `backup_eligible` is told of. Both are NULL until its first approval after this
  /// migration, and of no worth once an older server has stored another credential. Older servers accept all.
  static let syncedPasskeys = PostgreSQLMigration(
    name: "synced passkeys", least: 1,
    sql: """
      ALTER TABLE application ADD COLUMN synced_passkeys bigint NOT NULL DEFAULT 1;
      ALTER TABLE phone_credential ADD COLUMN backup_of text;
      ALTER TABLE phone_credential ADD COLUMN backup_eligible bigint;

      CREATE FUNCTION audit_settings_passkeys() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (database_time(), 'settings changed', NEW.name,
          'synced-passkeys=' || CASE WHEN NEW.synced_passkeys <> 0 THEN 'accepted' ELSE 'refused' END);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_settings_passkeys AFTER UPDATE OF synced_passkeys ON application FOR EACH ROW
        WHEN (NEW.synced_passkeys IS DISTINCT FROM OLD.synced_passkeys) EXECUTE FUNCTION audit_settings_passkeys();
      """)
}
