extension Migration {
  /// Whether an application accepts passkeys that are synced between devices, and whether a phone's may be.
  ///
  /// `backup_of` is the credential that `backup_eligible` is told of. Both are NULL until its first approval after this
  /// migration.
  static let syncedPasskeys = Migration(
    "synced passkeys",
    sql: """
      ALTER TABLE application ADD COLUMN synced_passkeys INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE phone_credential ADD COLUMN backup_of TEXT;
      ALTER TABLE phone_credential ADD COLUMN backup_eligible INTEGER;

      CREATE TRIGGER audit_settings_passkeys AFTER UPDATE OF synced_passkeys ON application
      WHEN NEW.synced_passkeys IS NOT OLD.synced_passkeys BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'settings changed', NEW.name,
          'synced-passkeys=' || iif(NEW.synced_passkeys, 'accepted', 'refused'));
      END;
      """)
}
