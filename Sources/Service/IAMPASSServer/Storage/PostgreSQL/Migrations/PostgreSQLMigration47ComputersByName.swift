extension PostgreSQLMigration {
  /// See ``Migration/computersByName``.
  static let computersByName = PostgreSQLMigration(
    name: "computers by name", least: 1,
    sql: """
      CREATE INDEX computer_by_name ON host_credential (name, id) WHERE revoked_at IS NULL AND is_openid = 0;
      """)
}
