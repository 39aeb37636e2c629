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

  /// On for the applications of before too: who attacks them knows no better than who attacks a new one, and a computer
  /// that shows no code is given none. Open requests of before have none.
  static let matchCodes = """
    ALTER TABLE application ADD COLUMN match_code INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE session ADD COLUMN match_code TEXT;
    """

  static let credentials = """
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
    """

  static let heldBack = """
    ALTER TABLE session ADD COLUMN held_back INTEGER NOT NULL DEFAULT 0;
    """

  static let page = """
    ALTER TABLE phone ADD COLUMN has_page INTEGER NOT NULL DEFAULT 0;
    """

  /// A wrong code denies: it is looked for with the other denials.
  static let wrongCodes = """
    DROP INDEX denied_session;
    CREATE INDEX denied_session ON session (user, ended_at) WHERE ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE');
    """
}
