extension Migration {
  static let sourceBlocks = Migration(
    "source blocks",
    sql: """
      CREATE TABLE source_block (
        user INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,
        source TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (user, source)
      ) STRICT, WITHOUT ROWID;
      """)
}
