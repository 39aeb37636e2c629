/// What was added to the database's form for phones that can say more than yes and no.
enum PhoneSchema {
  /// Times are Unix milliseconds.
  static let sourceBlocks = """
    CREATE TABLE source_block (
      user INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,
      source TEXT NOT NULL,
      until INTEGER NOT NULL,
      PRIMARY KEY (user, source)
    ) STRICT, WITHOUT ROWID;
    """
}
