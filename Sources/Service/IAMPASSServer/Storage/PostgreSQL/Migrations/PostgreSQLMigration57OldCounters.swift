extension PostgreSQLMigration {
  /// The indices by which counters that all servers share are found once they are old. An older version keeps them up to
  /// date without knowing of them.
  static let oldCounters = PostgreSQLMigration(
    name: "indices of old counters", least: 1,
    sql: """
      CREATE INDEX old_failure_count ON failure_count (until);
      CREATE INDEX old_poll_pace ON poll_pace (asked_at);
      """)
}
