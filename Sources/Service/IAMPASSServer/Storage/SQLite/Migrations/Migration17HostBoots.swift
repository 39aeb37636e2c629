extension Migration {
  static let hostBoots = Migration(
    "hosts' boots",
    sql: """
      ALTER TABLE session ADD COLUMN boot_id TEXT;

      CREATE TABLE host_boot (
        number INTEGER PRIMARY KEY,
        credential TEXT NOT NULL REFERENCES host_credential ON DELETE CASCADE,
        boot_id TEXT NOT NULL,
        signed_at INTEGER NOT NULL,
        UNIQUE (credential, boot_id)
      ) STRICT;
      """)
}
