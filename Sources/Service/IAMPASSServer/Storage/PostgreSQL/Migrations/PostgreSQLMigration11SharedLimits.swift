extension PostgreSQLMigration {
  /// What all servers count together. UNLOGGED: no commit waits for a disk, and a crash of the database forgets them.
  static let sharedLimits = PostgreSQLMigration(
    name: "shared limits", least: 1,
    sql: """
      CREATE UNLOGGED TABLE failure_count (
        key text PRIMARY KEY,
        failures bigint NOT NULL,
        until bigint NOT NULL
      );
      CREATE UNLOGGED TABLE poll_pace (
        request text PRIMARY KEY,
        asked_at bigint NOT NULL,
        step bigint NOT NULL,
        is_too_fast bigint NOT NULL
      );
      """)
}
