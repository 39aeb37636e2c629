extension PostgreSQLMigration {
  /// See ``Migration/allowedLocums``. An older version keeps the index up to date without knowing of it.
  static let allowedLocums = PostgreSQLMigration(
    name: "allowed locums", least: 1,
    sql: """
      CREATE INDEX locum_allowed ON audit (user_id, noted_at) WHERE event = 'locum allowed';
      """)
}
