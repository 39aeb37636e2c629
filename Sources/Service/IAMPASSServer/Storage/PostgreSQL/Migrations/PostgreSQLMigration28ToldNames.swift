extension PostgreSQLMigration {
  /// What people call a user, as the application told it. See ``Migration/toldNames``.
  static let toldNames = PostgreSQLMigration(
    name: "told names", least: 1,
    sql: """
      ALTER TABLE app_user ADD COLUMN told_name text;
      """)
}
