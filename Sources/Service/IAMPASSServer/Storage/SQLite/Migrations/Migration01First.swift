extension Migration {
  /// Times are Unix milliseconds.
  static let first = Migration(
    "first",
    sql: """
      CREATE TABLE application (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        secret TEXT NOT NULL,
        created_at INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE user (
        id INTEGER PRIMARY KEY,
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        name TEXT NOT NULL,
        UNIQUE (application, name)
      ) STRICT;

      -- A phone that was cut off stays, so that it can be told so.
      CREATE TABLE phone (
        id TEXT PRIMARY KEY,
        user INTEGER REFERENCES user ON DELETE SET NULL,
        public_key TEXT NOT NULL,
        display_name TEXT NOT NULL,
        presence TEXT NOT NULL,
        registered_at INTEGER NOT NULL,
        cut_off_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX one_live_phone_a_user ON phone (user) WHERE cut_off_at IS NULL;

      CREATE TABLE link (
        code_hash TEXT PRIMARY KEY,
        user INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,
        display_name TEXT NOT NULL,
        replaces_phone INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        used_at INTEGER
      ) STRICT;
      CREATE INDEX link_user ON link (user);

      -- A session outlives its user: its client must be able to learn that it was closed.
      CREATE TABLE session (
        id TEXT PRIMARY KEY,
        token TEXT NOT NULL UNIQUE,
        secret TEXT NOT NULL,
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        user INTEGER REFERENCES user ON DELETE SET NULL,
        source TEXT NOT NULL,
        context TEXT NOT NULL,
        answer_nonce TEXT NOT NULL,
        status TEXT NOT NULL,
        ending TEXT,
        started_at INTEGER NOT NULL,
        duration INTEGER NOT NULL,
        approved_at INTEGER,
        collected_at INTEGER,
        ended_at INTEGER,
        delivered TEXT NOT NULL,
        delivered_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX live_session ON session (user) WHERE ended_at IS NULL;
      CREATE INDEX ended_session ON session (ended_at) WHERE ended_at IS NOT NULL;

      CREATE TABLE spent_nonce (
        client TEXT NOT NULL,
        nonce TEXT NOT NULL,
        forget_at INTEGER NOT NULL,
        PRIMARY KEY (client, nonce)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX spent_nonce_age ON spent_nonce (forget_at);
      """)
}
