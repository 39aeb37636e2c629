extension Migration {
  /// Methods that computers asked for and a phone lacks.
  static let training = Migration(
    "training",
    sql: """
      CREATE TABLE training (
        phone TEXT NOT NULL REFERENCES phone ON DELETE CASCADE,
        method TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        PRIMARY KEY (phone, method)
      ) STRICT;
      """)
}
