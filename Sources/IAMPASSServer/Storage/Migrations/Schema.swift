import GRDB

/// The database's form. A migration that was once released is never changed; a new one is added.
enum Schema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("first") { try $0.execute(sql: first) }
    migrator.registerMigration("push", migrate: PushBook.create)
    migrator.registerMigration("source blocks") { try $0.execute(sql: PhoneSchema.sourceBlocks) }
    migrator.registerMigration("host credentials") { try $0.execute(sql: hostCredentials) }
    migrator.registerMigration("match codes") { try $0.execute(sql: PhoneSchema.matchCodes) }
    migrator.registerMigration("phone credentials") { try $0.execute(sql: PhoneSchema.credentials) }
    migrator.registerMigration("held back requests") { try $0.execute(sql: PhoneSchema.heldBack) }
    migrator.registerMigration("denials") { try $0.execute(sql: Denials.schema) }
    migrator.registerMigration("wrong codes") { try $0.execute(sql: PhoneSchema.wrongCodes) }
    migrator.registerMigration("audit") {
      try $0.execute(sql: AuditSchema.table)
      try $0.execute(sql: AuditSchema.triggers)
    }
    migrator.registerMigration("console") {
      try $0.execute(sql: ConsoleAccess.schema)
      try $0.execute(sql: ApplicationSettings.schema)
      try $0.execute(sql: PresenceBySilence.schema)
    }
    migrator.registerMigration("audit of links, credentials and settings") {
      try $0.execute(sql: AuditSchema.furtherTriggers)
    }
    migrator.registerMigration("phone pages") { try $0.execute(sql: PhoneSchema.page) }
    migrator.registerMigration("restored copies") { try $0.execute(sql: RestoredCopy.schema) }
    migrator.registerMigration("users' ids used once") { try $0.execute(sql: User.idsUsedOnce) }
    migrator.registerMigration("service mark") { try $0.execute(sql: HistoryMark.schema) }
    migrator.registerMigration("hosts' boots") { try $0.execute(sql: HostBoot.schema) }
    migrator.registerMigration("recent match codes") { try $0.execute(sql: MatchCodesInUse.index) }
    migrator.registerMigration("service time") { try $0.execute(sql: StorageClock.schema) }
    return migrator
  }

  /// Times are Unix milliseconds.
  private static let first = """
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
    """
}
