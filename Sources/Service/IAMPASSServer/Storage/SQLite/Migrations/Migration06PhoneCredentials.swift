extension Migration {
  static let phoneCredentials = Migration(
    "phone credentials",
    sql: """
      CREATE TABLE phone_credential (
        phone TEXT PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        credential TEXT NOT NULL,
        public_key TEXT NOT NULL,
        counter INTEGER NOT NULL,
        added_at INTEGER NOT NULL
      ) STRICT;

      ALTER TABLE session ADD COLUMN method TEXT NOT NULL DEFAULT 'acceptance';

      -- Outlives its session, its phone and its user: what was signed is kept.
      CREATE TABLE answer (
        session TEXT PRIMARY KEY,
        phone TEXT NOT NULL,
        public_key TEXT NOT NULL,
        statement TEXT NOT NULL,
        signature TEXT NOT NULL,
        context TEXT NOT NULL,
        assertion TEXT,
        credential_key TEXT,
        answered_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX answer_age ON answer (answered_at);
      """)
}
