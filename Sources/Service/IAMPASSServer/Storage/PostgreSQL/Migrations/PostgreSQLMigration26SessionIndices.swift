extension PostgreSQLMigration {
  /// The indices by which these are found, however many there are: sessions whose time has come, an application's live ones,
  /// the newest of all live ones, phones that fell silent, and what is old.
  ///
  /// The first is in the words of `OverdueRows.swift`: PostgreSQL uses it only if they are the same. An older version keeps
  /// them up to date without knowing of them.
  static let sessionIndices = PostgreSQLMigration(
    name: "indices of sessions", least: 1,
    sql: """
      CREATE INDEX overdue_session ON session (
        (CASE WHEN approved_at IS NULL THEN started_at + 1000 * answer_time
          WHEN collected_at IS NULL AND duration > 30 THEN approved_at + 30000
          ELSE approved_at + 1000 * duration END), number
      ) WHERE ended_at IS NULL;
      CREATE INDEX live_session_of_application ON session (application, approved_at) WHERE ended_at IS NULL;
      CREATE INDEX live_session_by_approval ON session (approved_at) WHERE ended_at IS NULL AND approved_at IS NOT NULL;
      CREATE INDEX heard_phone ON phone (heard_at) WHERE cut_off_at IS NULL AND is_silent = 0;
      CREATE INDEX code_use_age ON code_use (reported_at);
      CREATE INDEX link_age ON link (expires_at);
      CREATE INDEX source_block_age ON source_block (until);
      """)
}
