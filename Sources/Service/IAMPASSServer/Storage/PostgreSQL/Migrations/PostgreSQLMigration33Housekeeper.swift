extension PostgreSQLMigration {
  /// Which server does the housekeeping: see ``PostgreSQLHousekeeperLease``. UNLOGGED: it is renewed each second, which
  /// must wait for no standby, and a crash of the database ends every server's turn. `server` is a key, so that what
  /// locks it by FOR KEY SHARE keeps another server out, and the renewals not. Older servers hold the advisory lock
  /// alone.
  static let housekeeper = PostgreSQLMigration(
    name: "housekeeper", least: 1,
    sql: """
      CREATE UNLOGGED TABLE housekeeper (
        id bigint PRIMARY KEY CHECK (id = 1),
        server text NOT NULL UNIQUE,
        renewed_at bigint NOT NULL
      );
      """)
}
