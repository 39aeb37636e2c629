extension PostgreSQLMigration {
  /// See ``Migration/usersInOrder``. An older version keeps the index up to date without knowing of it.
  static let usersInOrder = PostgreSQLMigration(
    name: "users in their order", least: 1,
    sql: """
      CREATE INDEX user_of_application ON app_user (application, id);
      """)
}
